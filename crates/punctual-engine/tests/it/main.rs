//! The pipeline as a user would notice it: through the engine and its ticks, on both databases.

mod accept;
mod claim;
mod decide;
mod deliver;
mod ensure;
mod files;
mod lease;
mod listeners;
mod loops;
mod operate;
mod poison;
mod purge;
mod r02_ensure;
mod r06_claims;
mod r09_nodes;
mod r11_duplicates;
mod r13_races;
mod receipts;
mod settled;
mod suppressed;
mod templates;
mod withdraw;
