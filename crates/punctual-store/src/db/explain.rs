//! The plan a database chooses for a statement, for tests that watch the hot ones.

use sqlx::AssertSqlSafe;

use super::{Arg, Conn, Result, Sql, args};
use crate::StoreError;

impl Conn<'_> {
    /// Keeps the plan of this statement with these values, where somebody asked for it. It runs nothing.
    pub(super) async fn explain(&mut self, sql: &Sql, bound: &[Arg]) -> Result<()> {
        if !self.faults().wants_plan(sql.name) {
            return Ok(());
        }
        let bound = bound.to_vec();
        let plan = match self {
            Conn::Sqlite(thread, _) => {
                let statement = sql.for_sqlite(bound);
                thread.run(move |session| session.explain(statement)).await.flatten()
            }
            Conn::Postgres(c, _) => {
                let text = AssertSqlSafe(format!("EXPLAIN (COSTS OFF) {}", sql.postgres));
                let query = sqlx::query_scalar_with(text, args::for_postgres(bound)?);
                c.run(async |conn| query.fetch_all(conn).await).await
            }
        };
        let plan = plan.map_err(|error| StoreError::statement(sql.name, error))?;
        self.faults().keep_plan(sql.name, plan);
        Ok(())
    }
}
