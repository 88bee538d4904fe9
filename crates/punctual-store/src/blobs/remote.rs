//! Object stores of providers: one place for the files of all nodes.

use std::sync::Arc;

use object_store::{ObjectStore, ObjectStoreScheme, parse_url_opts, prefix::PrefixStore};
use url::Url;

use super::Blobs;
use crate::{StoreError, db::Result};

/// Variables that belong to a provider's store; the rest of the environment is none of its business.
const PREFIXES: [&str; 3] = ["aws_", "azure_", "google_"];

pub(super) async fn open(place: &str, settings: impl IntoIterator<Item = (String, String)>) -> Result<Blobs> {
    let refused = |why: String| StoreError::BlobPlace(shown(place), why);
    let url = Url::parse(place).map_err(|error| refused(error.to_string()))?;
    if !url.username().is_empty() || url.password().is_some() || url.query().is_some() {
        return Err(refused("credentials belong into the environment, not into the address".into()));
    }
    let known = ObjectStoreScheme::parse(&url).is_ok_and(|(scheme, _)| {
        matches!(
            scheme,
            ObjectStoreScheme::AmazonS3
                | ObjectStoreScheme::MicrosoftAzure
                | ObjectStoreScheme::GoogleCloudStorage
        )
    });
    if !known {
        return Err(refused(
            "expected s3://bucket, az://container or gs://bucket, with or without a prefix".into(),
        ));
    }
    let settings = settings.into_iter().filter_map(|(name, value)| {
        let name = name.to_ascii_lowercase();
        PREFIXES.iter().any(|prefix| name.starts_with(prefix)).then_some((name, value))
    });
    let (store, prefix) = parse_url_opts(&url, settings).map_err(|error| refused(error.to_string()))?;
    let store: Arc<dyn ObjectStore> = Arc::from(store);
    let blobs = Blobs { store: Arc::new(PrefixStore::new(store, prefix)), folder: None };
    // A missing file is a good result: the store responds and takes the credentials.
    blobs.get("is-anybody-there").await.map_err(|error| match error {
        StoreError::Blob(why) => refused(why.to_string()),
        other => other,
    })?;
    Ok(blobs)
}

/// The place without what should not have been in it.
fn shown(place: &str) -> String {
    let end = place.find(['?', '#']).unwrap_or(place.len());
    match place[..end].rsplit_once('@') {
        Some((before, after)) => {
            let scheme = before.split_once("://").map_or("", |(scheme, _)| scheme);
            format!("{scheme}://…@{after}")
        }
        None => place[..end].to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn fault(place: &str) -> String {
        match Blobs::open(place, []).await {
            Err(StoreError::BlobPlace(place, why)) => format!("{place}: {why}"),
            Err(other) => other.to_string(),
            Ok(_) => "it was taken".into(),
        }
    }

    #[tokio::test]
    async fn an_address_that_is_none_says_what_would_be_right() {
        for place in ["ftp://files.example.org/a", "https://example.org/a", "memory:///"] {
            assert!(
                fault(place).await.contains("expected s3://bucket, az://container or gs://bucket"),
                "{place}"
            );
        }
    }

    #[tokio::test]
    async fn credentials_in_an_address_are_refused_and_not_repeated() {
        for place in ["s3://key:hidden@bucket/a", "s3://bucket/a?secret=hidden"] {
            let said = fault(place).await;
            assert!(said.contains("credentials belong into the environment"), "{said}");
            assert!(!said.contains("hidden"), "{said}");
        }
    }
}
