//! Blobs: what is too large for a row (deep traces, attachments, artefacts), in an object store.

#[cfg(feature = "object-stores")]
mod remote;

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use bytes::Bytes;
use futures_util::{Stream, StreamExt};
use object_store::{
    ObjectStore, ObjectStoreExt, PutPayload, local::LocalFileSystem, memory::InMemory, path::Path as BlobPath,
};
use punctual_boxed::boxed;

use crate::{
    StoreError,
    db::Result,
    private::{close_file, missing_folders},
};

/// A folder by default; any object store by configuration.
#[derive(Clone)]
pub struct Blobs {
    store: Arc<dyn ObjectStore>,
    /// Where they are files.
    folder: Option<PathBuf>,
}

impl Blobs {
    /// A local folder, made if it is missing.
    pub fn folder(path: &Path) -> Result<Self> {
        missing_folders(path).map_err(|e| StoreError::File(path.to_owned(), e))?;
        let store = Arc::new(LocalFileSystem::new_with_prefix(path)?.with_fsync(true));
        Ok(Self { store, folder: Some(path.to_owned()) })
    }

    /// What a configuration names: a folder, or the address of an object store such as `s3://bucket/prefix`. `settings`
    /// are the environment's: credentials, region and endpoint come under their providers' usual names. An object store
    /// is asked once, so that a wrong name is found now and not with the first file.
    pub async fn open(place: &str, settings: impl IntoIterator<Item = (String, String)>) -> Result<Self> {
        let Some((scheme, _)) = place.split_once("://") else { return Self::folder(Path::new(place)) };
        if scheme == "file" {
            return Self::folder(Path::new(&place["file://".len()..]));
        }
        #[cfg(feature = "object-stores")]
        return remote::open(place, settings).await;
        #[cfg(not(feature = "object-stores"))]
        {
            let _ = settings;
            Err(StoreError::BlobPlace(
                place.to_owned(),
                "this program was built without object stores".into(),
            ))
        }
    }

    /// Kept in memory only: for benchmarks and tests that look at no blob.
    pub fn in_memory() -> Self {
        Self { store: Arc::new(InMemory::new()), folder: None }
    }

    #[boxed]
    pub async fn put(&self, name: &str, content: Vec<u8>) -> Result<()> {
        self.store.put(&BlobPath::from(name), PutPayload::from(content)).await?;
        if let Some(folder) = &self.folder {
            close_file(&folder.join(name));
        }
        Ok(())
    }

    /// Removes a blob; one that is not there is gone already.
    #[boxed]
    pub async fn delete(&self, name: &str) -> Result<()> {
        match self.store.delete(&BlobPath::from(name)).await {
            Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// The names of all blobs, a part of them at a time.
    pub fn names(&self) -> impl Stream<Item = Result<String>> + Send + use<> {
        self.store.list(None).map(|found| Ok(found?.location.to_string()))
    }

    /// Whether there is a blob of that name.
    #[boxed]
    pub async fn exists(&self, name: &str) -> Result<bool> {
        match self.store.head(&BlobPath::from(name)).await {
            Ok(_) => Ok(true),
            Err(object_store::Error::NotFound { .. }) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// The content of a blob, or `None` if it does not exist.
    #[boxed]
    pub async fn get(&self, name: &str) -> Result<Option<Bytes>> {
        match self.store.get(&BlobPath::from(name)).await {
            Ok(found) => Ok(Some(found.bytes().await?)),
            Err(object_store::Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}
