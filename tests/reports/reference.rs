//! The pages of the reference about events and environment variables. `AGENTCLI_BLESS=1` writes them.

use std::collections::BTreeMap;
use std::path::Path;

use agentcli::cli::environment::{Row, VARIABLES};
use serde_json::Value;
use syn::{Attribute, Expr, Fields, Item, Lit, Meta, Type};

use super::pages::generated;
use crate::harness::TestEnv;
use crate::house::{below, text};

fn code(name: &str) -> String {
    format!("`{name}`")
}

fn joined(names: &[&str]) -> String {
    names.iter().map(|name| code(name)).collect::<Vec<_>>().join(", ")
}

#[test]
fn variables_are_documented() {
    let commands = |row: &Row| if row.commands.is_empty() { "all".to_owned() } else { joined(row.commands) };
    let row = |row: &Row| format!("| {} | {} | {} |\n", joined(row.names), commands(row), row.value);
    let rows: String = VARIABLES.iter().map(row).collect();
    let page = format!(
        "# Environment variables\n\nagentcli reads these environment variables. An empty one counts as unset. Of several \
         in a row, the first one that is set\napplies. An option of the command line overrides them, and they override \
         `.env`.\n\n| variable | commands | value |\n|---|---|---|\n{rows}\n\
         `deploy` includes all its subcommands, and `doctor` also reads the variables of the commands that it checks.\n\
         Options, secrets and values in `.env` can name further variables, such as\n`--build-arg NAME`, \
         `--secret id=ID,env=NAME` and `${{NAME}}`.\n\n\
         The programs that agentcli starts, such as uv, pip and npm, get its environment and read variables of their own; \
         docker\ncompose gets only those that select the engine. The variables of the server are in the configuration, \
         under `env`.\n"
    );
    generated("docs/reference/environment.md", &page);
}

/// A row that nothing reads is out of date. The last ones are read by libraries.
#[test]
fn documented_variables_are_read() {
    let sources = ["src", "crates/compiler/src", "host/src"].into_iter().flat_map(below);
    let sources = sources.filter(|path| !path.ends_with("environment.rs"));
    let code: String = sources
        .filter(|path| path.extension().is_some_and(|it| it == "rs"))
        .map(|path| text(&path))
        .collect();
    let of_libraries = VARIABLES.iter().skip_while(|row| row.names[0] != "HTTP_PROXY").count();
    for row in &VARIABLES[..VARIABLES.len() - of_libraries] {
        for name in row.names {
            assert!(code.contains(&format!("\"{name}\"")), "{name}");
        }
    }
}

/// A name, its description, and for events their fields.
struct Documented {
    name: String,
    description: String,
    fields: Vec<(String, String)>,
}

/// The doc comment as one line.
fn description(attributes: &[Attribute]) -> String {
    let lines = attributes.iter().filter_map(|attribute| match &attribute.meta {
        Meta::NameValue(meta) if meta.path.is_ident("doc") => match &meta.value {
            Expr::Lit(literal) => match &literal.lit {
                Lit::Str(text) => Some(text.value().trim().to_owned()),
                _ => None,
            },
            _ => None,
        },
        _ => None,
    });
    lines.collect::<Vec<_>>().join(" ")
}

/// Whether an attribute such as `#[serde(skip)]` has this word.
fn has(attributes: &[Attribute], word: &str) -> bool {
    attributes.iter().any(|attribute| match &attribute.meta {
        Meta::List(list) if list.path.is_ident("serde") => {
            list.tokens.to_string().split([',', ' ']).any(|it| it == word)
        }
        _ => false,
    })
}

/// The structures and enumerations of a source file.
fn items(path: &str) -> BTreeMap<String, Item> {
    let file = syn::parse_file(&text(Path::new(path))).unwrap();
    let named = file.items.into_iter().filter_map(|item| match &item {
        Item::Struct(it) => Some((it.ident.to_string(), item)),
        Item::Enum(it) => Some((it.ident.to_string(), item)),
        _ => None,
    });
    named.collect()
}

fn name_of(kind: &Type) -> String {
    match kind {
        Type::Path(path) => path.path.segments.last().unwrap().ident.to_string(),
        _ => String::new(),
    }
}

/// The fields as they are in JSON: those of a flattened structure are among them.
fn fields(fields: &Fields, items: &BTreeMap<String, Item>) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for field in fields.iter().filter(|field| !has(&field.attrs, "skip")) {
        match (&field.ident, items.get(&name_of(&field.ty))) {
            (_, Some(Item::Struct(inner))) => found.extend(self::fields(&inner.fields, items)),
            (Some(name), Some(Item::Enum(inner))) => {
                let words =
                    inner.variants.iter().map(|variant| code(&variant.ident.to_string().to_lowercase()));
                let words = words.collect::<Vec<_>>().join(", ");
                found.push((
                    name.to_string(),
                    format!("{} {words}.", description(&field.attrs).replace('.', ":")),
                ));
            }
            (Some(name), _) => found.push((name.to_string(), description(&field.attrs))),
            (None, _) => panic!("a field without a name"),
        }
    }
    found
}

/// The variants of an enumeration of events with the events, with `separator` between the words of their names.
fn events(items: &BTreeMap<String, Item>, name: &str, separator: &str) -> Vec<(String, Documented)> {
    let Item::Enum(events) = &items[name] else { panic!("{name} is no enumeration") };
    let documented = events.variants.iter().map(|variant| {
        let mut name = String::new();
        for c in variant.ident.to_string().chars() {
            if c.is_uppercase() && !name.is_empty() {
                name.push_str(separator);
            }
            name.extend(c.to_lowercase());
        }
        let (description, fields) = (description(&variant.attrs), fields(&variant.fields, items));
        (variant.ident.to_string(), Documented { name, description, fields })
    });
    documented.collect()
}

fn table(events: impl IntoIterator<Item = Documented>) -> String {
    let row = |event: Documented| {
        let field = |(name, description): (String, String)| format!("{}: {description}", code(&name));
        let fields: Vec<String> = event.fields.into_iter().map(field).collect();
        format!("| {} | {} | {} |\n", code(&event.name), event.description, fields.join("<br>"))
    };
    format!(
        "| event | meaning | fields |\n|---|---|---|\n{}",
        events.into_iter().map(row).collect::<String>()
    )
}

/// The events of a schema.
fn of_schema(schema: &Value) -> Vec<Documented> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let event = |event: &Value| {
        let properties = event["properties"].as_object().unwrap();
        let field = |(name, field): (&String, &Value)| {
            let words = field["enum"].as_array().into_iter().flatten().filter_map(Value::as_str);
            let words: Vec<&str> = words.collect();
            let listed = if words.is_empty() { String::new() } else { format!("{}.", joined(&words)) };
            (name.clone(), format!("{}{listed}", text(&field["description"])))
        };
        Documented {
            name: text(&properties["event"]["const"]),
            description: text(&event["description"]),
            fields: properties.iter().filter(|(name, _)| *name != "event").map(field).collect(),
        }
    };
    schema["oneOf"].as_array().unwrap().iter().map(event).collect()
}

#[test]
fn events_are_documented() {
    let mut live = items("src/live/event.rs");
    live.extend(items("src/live/urls.rs"));
    let rooms = ["src/compose", "src/dev", "src/engine", "src/live", "src/up"].into_iter().flat_map(below);
    let files = ["src/dev.rs", "src/up.rs", "src/compose.rs"].map(Into::into);
    let code: String = rooms.chain(files).map(|path| text(&path)).collect();
    let is_reported = |(variant, _): &(String, Documented)| {
        let name = format!("Event::{variant}");
        code.split(&name).skip(1).any(|rest| !rest.starts_with(char::is_alphanumeric))
    };
    let servers = events(&live, "Event", "-").into_iter().filter(is_reported).map(|(_, event)| event);
    let builds =
        events(&items("src/engine/events.rs"), "BuildEvent", "_").into_iter().map(|(_, event)| event);
    let deploy = TestEnv::empty().run("schema deploy-events").out;
    let deploy = of_schema(&serde_json::from_str(&deploy).unwrap());
    let of_deploy = |name: &str| {
        let event = deploy.iter().find(|event| event.name == name).unwrap();
        let Documented { name, description, fields } = event;
        Documented { name: name.clone(), description: description.clone(), fields: fields.clone() }
    };
    let results = ["built", "push", "pushed"].map(of_deploy);
    let page = format!(
        "# Events\n\nWith `--json`, `dev`, `up`, `down`, `deploy` and `host serve` print events as JSON Lines: one object \
         per line on stdout, whose\n`event` is its kind. `build --progress json` does the same. Ignore events and fields \
         that you do not know: later versions\nmay add some.\n\n\
         ## dev, up and down\n\n{}\n`up` also prints the events of a build.\n\n\
         ## build\n\n{}\n## deploy\n\n`agentcli schema deploy-events` prints the JSON Schema.\n\n{}\n\
         ## host serve\n\nThe only event is `ready`, with the `url` of the service, and the one of `deployments`, in which NAME is that of one.\n",
        table(servers),
        table(builds.chain(results)),
        table(deploy)
    );
    generated("docs/reference/events.md", &page);
}
