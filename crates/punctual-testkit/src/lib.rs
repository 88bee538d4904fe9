//! punctual-testkit
