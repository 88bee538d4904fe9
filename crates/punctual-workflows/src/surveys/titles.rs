//! Titles of the rows of surveys: `Customer visit: invitation to ann@x.example`.

use std::collections::HashMap;

use jiff::Timestamp;
use punctual_engine::{Titles, titles::line};
use punctual_model::{KeyParts, Reach};
use punctual_store::{
    Conn, StoreError,
    survey_instances::{self, Asked},
};

use super::Surveys;

impl Titles for Surveys {
    async fn titles(
        &self,
        conn: &mut Conn<'_>,
        reach: &Reach,
        _now: Timestamp,
        keys: &[KeyParts],
    ) -> Result<Vec<Option<String>>, StoreError> {
        let link = |key: &KeyParts| match key {
            KeyParts::SurveySend { public_id, .. } | KeyParts::SurveyExpire { public_id } => {
                Some(public_id.clone())
            }
            _ => None,
        };
        let found = survey_instances::asked(conn, reach, keys.iter().filter_map(link).collect()).await?;
        let found: HashMap<&str, &Asked> = found.iter().map(|row| (row.public_id.as_str(), row)).collect();
        let title = |key: &KeyParts| {
            let link = link(key)?;
            let (survey, to) = match found.get(link.as_str()) {
                Some(asked) => (line(&asked.survey), line(&asked.recipient_address)),
                None => ("Deleted survey".to_owned(), link),
            };
            Some(match key {
                KeyParts::SurveySend { ordinal: ..=1, .. } => format!("{survey}: invitation to {to}"),
                KeyParts::SurveySend { ordinal, .. } => format!("{survey}: reminder {} to {to}", ordinal - 1),
                _ => format!("{survey}: end of the link of {to}"),
            })
        };
        Ok(keys.iter().map(title).collect())
    }
}
