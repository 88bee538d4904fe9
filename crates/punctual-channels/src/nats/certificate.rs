//! The certificate of a server that is connected to by its address: it must carry the name in the settings.

use punctual_model::ReasonCode;
use std::sync::Arc;

use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, SignatureScheme,
    client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    pki_types::{CertificateDer, ServerName, UnixTime},
};

use crate::{broker::Failure, trust::Trust};

/// TLS settings for one server.
pub(super) fn config(trust: &Trust, host: &str) -> Result<ClientConfig, Failure> {
    let name = ServerName::try_from(host.to_owned()).map_err(|_| {
        Failure::never(ReasonCode::UrlInvalid, "the server's name is not valid in a certificate")
    })?;
    let failed = |error: &dyn std::fmt::Display| Failure::Later(format!("TLS cannot be set up: {error}"));
    let inner = trust.verifier().map_err(|error| failed(&error))?;
    let mut config = trust.client_config().map_err(|error| failed(&error))?;
    config.dangerous().set_certificate_verifier(Arc::new(Named { name, inner }));
    Ok(config)
}

/// The usual checks, with our name in place of the address.
#[derive(Debug)]
struct Named {
    name: ServerName<'static>,
    inner: Arc<dyn ServerCertVerifier>,
}

impl ServerCertVerifier for Named {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        // Only addresses are connected to; a name would be one that nobody checked.
        if !matches!(server_name, ServerName::IpAddress(_)) {
            return Err(Error::InvalidCertificate(CertificateError::NotValidForName));
        }
        self.inner.verify_server_cert(end_entity, intermediates, &self.name, ocsp_response, now)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.inner.verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.inner.verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.inner.supported_verify_schemes()
    }
}
