//! Any text as CAMPAIGN.toml, beside the project's scenarios: an error says where and what in one
//! line, and its points are all combinations of its values.

use super::network_toml::{is_large, names_endless_file};
use super::rules_json::check_error;
use crate::tree;
use config::{CampaignConfig, FileKind};

/// Larger campaigns differ in nothing but the time that they take.
const POINTS_MAX: usize = 8;

/// Reads `data`.
pub fn run(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let _ = FileKind::of(&text);
    if names_endless_file(&text) || is_large(&text) {
        return;
    }
    let file = tree::root().join("config/examples/campaigns/CAMPAIGN.toml");
    let campaign = match CampaignConfig::parse(&file, &text) {
        Ok(campaign) => campaign,
        Err(error) => {
            assert_eq!(error.file, file, "{error}");
            return check_error(&error, &text);
        }
    };
    assert!(campaign.seeds.start < campaign.seeds.end && campaign.points_count() > 0);
    if campaign.points_count() > POINTS_MAX {
        return;
    }
    match campaign.points() {
        Ok(points) => {
            assert_eq!(points.all.len(), campaign.points_count());
            assert_eq!(points.digest.len(), 64);
        }
        Err(error) => {
            assert_eq!(error.file, file, "a scenario's mistake is said with its place here");
            check_error(&error, &text);
        }
    }
}
