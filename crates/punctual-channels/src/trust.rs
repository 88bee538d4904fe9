//! The trusted certificates of outgoing connections: those of the machine, and those added by an administrator.

use std::{error::Error as StdError, io, sync::Arc};

#[cfg(feature = "nats")]
use rustls::client::WebPkiServerVerifier;
use rustls::{
    ClientConfig, RootCertStore,
    crypto::ring,
    pki_types::{CertificateDer, pem::PemObject},
};

/// The roots of trust for HTTPS and SMTP.
#[derive(Clone)]
pub struct Trust {
    roots: Arc<RootCertStore>,
    /// The same once more, because the mail library wants them one by one.
    certificates: Arc<Vec<CertificateDer<'static>>>,
}

/// A file of certificates that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("the certificates are not PEM text with at least one certificate")]
pub struct InvalidCertificates;

impl Trust {
    /// The machine's own roots, read once; `SSL_CERT_FILE` and `SSL_CERT_DIR` name other ones.
    pub fn platform() -> Self {
        let loaded = rustls_native_certs::load_native_certs();
        for fault in &loaded.errors {
            tracing::warn!(error = %fault, "some certificates of this machine cannot be read");
        }
        if loaded.certs.is_empty() {
            tracing::warn!("this machine has no root certificates: every TLS connection will fail");
        }
        Self::of(loaded.certs)
    }

    /// The same with the certificates of a PEM text added, such as those of a company's own authority.
    pub fn with_pem(&self, pem: &[u8]) -> Result<Self, InvalidCertificates> {
        let added: Vec<_> =
            CertificateDer::pem_slice_iter(pem).collect::<Result<_, _>>().map_err(|_| InvalidCertificates)?;
        let before = self.certificates.len();
        let trust = Self::of(self.certificates.iter().cloned().chain(added));
        if trust.certificates.len() == before { Err(InvalidCertificates) } else { Ok(trust) }
    }

    fn of(certificates: impl IntoIterator<Item = CertificateDer<'static>>) -> Self {
        let mut roots = RootCertStore::empty();
        // Machines carry a few that no library can parse; they are left out.
        let certificates =
            certificates.into_iter().filter(|certificate| roots.add(certificate.clone()).is_ok()).collect();
        Self { roots: Arc::new(roots), certificates: Arc::new(certificates) }
    }

    pub(crate) fn certificates(&self) -> &[CertificateDer<'static>] {
        &self.certificates
    }

    /// The TLS settings of a client. The provider is named, as no process-wide one is installed.
    pub(crate) fn client_config(&self) -> Result<ClientConfig, rustls::Error> {
        Ok(ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()?
            .with_root_certificates(Arc::clone(&self.roots))
            .with_no_client_auth())
    }
}

#[cfg(feature = "nats")]
impl Trust {
    /// What checks certificates, for connections that need their own word about the name.
    pub(crate) fn verifier(&self) -> Result<Arc<WebPkiServerVerifier>, rustls::client::VerifierBuilderError> {
        let provider = Arc::new(ring::default_provider());
        WebPkiServerVerifier::builder_with_provider(Arc::clone(&self.roots), provider).build()
    }
}

impl std::fmt::Debug for Trust {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Trust({} certificates)", self.certificates.len())
    }
}

/// What was wrong with the other side's certificate, if that is why a connection failed.
pub(crate) fn certificate_fault(error: &(dyn StdError + 'static)) -> Option<String> {
    let found = find(error, &|cause| {
        matches!(
            cause.downcast_ref(),
            Some(rustls::Error::InvalidCertificate(_) | rustls::Error::NoCertificatesPresented)
        )
    })?;
    Some(format!("the server's certificate is not accepted: {found}"))
}

/// The first cause of an error that fits, wherever it is wrapped.
pub(crate) fn find<'e>(
    error: &'e (dyn StdError + 'static),
    fits: &dyn Fn(&(dyn StdError + 'static)) -> bool,
) -> Option<&'e (dyn StdError + 'static)> {
    let mut next = Some(error);
    while let Some(cause) = next {
        if fits(cause) {
            return Some(cause);
        }
        // An I/O error's source is that of the error inside it: the one inside would be passed over.
        next = match cause.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
            Some(inside) => Some(inside),
            None => cause.source(),
        };
    }
    None
}
