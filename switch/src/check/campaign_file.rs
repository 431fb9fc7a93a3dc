//! Summary of a CAMPAIGN.toml: scenarios with their values, schemes, seeds.

use super::Summary;
use config::{CampaignConfig, ConfigError};
use netsim::scenario::COMPARED;
use serde_json::json;

/// The summary of `config`, whose scenarios are read with every combination of values.
pub(super) fn summary(config: &CampaignConfig) -> Result<Summary, ConfigError> {
    let points = config.points()?;
    let schemes = if config.schemes.is_empty() { COMPARED.len() } else { config.schemes.len() };
    let seeds = config.seeds.end - config.seeds.start;
    let runs = points.all.len() as u64 * schemes as u64 * seeds;
    let text = format!(
        "campaign {}: {} scenarios with their values, {schemes} schemes, {seeds} seeds: {runs} runs",
        config.name,
        points.all.len(),
    );
    let json = json!({
        "ok": true,
        "kind": "campaign",
        "name": config.name,
        "points": points.all.len(),
        "schemes": schemes,
        "seeds": seeds,
        "runs": runs,
        "digest": points.digest,
    });
    Ok(Summary { text, json, warnings: points.warnings(), breaks_promise: false })
}
