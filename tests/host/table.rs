//! The documentation knows every route, and nothing else.

use std::collections::BTreeSet;

use agentcli_host::{Basis, OPEN_ROUTES, ROUTES};

#[test]
fn the_table_of_the_docs_is_that_of_the_service() {
    let text = include_str!("../../docs/deployment-service.md");
    let rows = text.lines().filter_map(|line| {
        let mut cells = line.split('|').map(str::trim).skip(1);
        let (what, basis) = (cells.next()?, cells.next()?);
        let (method, path) = what.strip_prefix('`')?.strip_suffix('`')?.split_once(' ')?;
        path.starts_with('/').then(|| (method.to_owned(), path.to_owned(), basis.to_owned()))
    });
    let rows: BTreeSet<_> = rows.collect();
    let routes = ROUTES.iter().chain(OPEN_ROUTES).map(|route| {
        let basis = if route.basis == Basis::Specified { "specified" } else { "chosen" };
        (route.method.to_owned(), route.path.to_owned(), basis.to_owned())
    });
    assert_eq!(rows, routes.collect());
}
