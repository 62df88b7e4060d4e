//! Progress of pulls and pushes.

use std::collections::HashMap;

use bollard::models::CreateImageInfo;

/// Maximum number of layers of an image.
const MAX_LAYERS: usize = 1000;

/// Progress of a pull or a push, over all layers.
#[derive(Default)]
pub(super) struct Transfer {
    /// Bytes transferred.
    pub(super) current: u64,
    /// Bytes to transfer, as far as known.
    pub(super) total: u64,
    /// Number of layers known.
    pub(super) layers: usize,
}

/// By layer: bytes transferred, and bytes to transfer.
#[derive(Default)]
pub(super) struct Layers(HashMap<String, (u64, u64)>);

impl Layers {
    /// The progress after a report of the engine; `None` if the report is about something else.
    pub(super) fn update(&mut self, report: CreateImageInfo) -> Option<Transfer> {
        let (id, status) = (report.id.filter(|id| !id.is_empty())?, report.status?);
        let detail = report.progress_detail.unwrap_or_default();
        let [current, total] = [detail.current, detail.total]
            .map(|bytes| u64::try_from(bytes.unwrap_or_default()).unwrap_or_default());
        let known = self.0.get(&id).copied().unwrap_or_default();
        let layer = match &*status {
            "Downloading" | "Pushing" => (current, total.max(current)),
            "Pushed" => (known.1, known.1),
            "Preparing" | "Waiting" => known,
            "Layer already exists" => (0, 0),
            status if status.starts_with("Mounted from") => (0, 0),
            _ => return None,
        };
        if self.0.len() < MAX_LAYERS || self.0.contains_key(&id) {
            self.0.insert(id, layer);
        }
        let (current, total) = self.0.values().fold((0, 0), |sum, layer| (sum.0 + layer.0, sum.1 + layer.1));
        Some(Transfer { current, total, layers: self.0.len() })
    }
}
