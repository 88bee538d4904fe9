//! punctual-paths
