//! punctual-channels
