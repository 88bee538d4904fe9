//! The known parameters of each route, taken from the OpenAPI document, so that the two cannot differ.

use std::collections::HashMap;

use axum::{
    extract::{MatchedPath, Query, Request},
    http::{Extensions, Method, Uri},
};
use punctual_wire::{FieldError, fields};
use utoipa::openapi::{OpenApi, PathItem, RefOr, path::ParameterIn};

/// Providers choose what the address of a callback ends in, and their signatures cover it.
const OPEN: &str = "/api/v1/callbacks/";
/// Routes at addresses that other systems know are described at this one.
const DESCRIBED_AT: &str = "/api/v1";

/// The parameters that the document gives each route.
pub struct KnownParameters(HashMap<(Method, String), Vec<String>>);

impl KnownParameters {
    pub fn of(document: &OpenApi) -> Self {
        let mut known = HashMap::new();
        for (path, item) in &document.paths.paths {
            if path.starts_with(OPEN) {
                continue;
            }
            let PathItem { get, put, post, delete, patch, .. } = item;
            let all = [
                (Method::GET, get),
                (Method::PUT, put),
                (Method::POST, post),
                (Method::DELETE, delete),
                (Method::PATCH, patch),
            ];
            for (method, operation) in all {
                let Some(operation) = operation else { continue };
                let names = operation.parameters.iter().flatten().filter_map(|parameter| match parameter {
                    RefOr::T(one) if one.parameter_in == ParameterIn::Query => Some(one.name.clone()),
                    _ => None,
                });
                known.insert((method, path.clone()), names.collect());
            }
        }
        Self(known)
    }

    /// Refuses a request with a parameter that its route does not know. A route that is not described takes any.
    pub fn check(&self, request: &Request) -> Result<(), Vec<FieldError>> {
        let (method, uri) = (request.method(), request.uri());
        let Some(known) = self.route(method, request.extensions()) else { return Ok(()) };
        let known: Vec<&str> = known.iter().map(String::as_str).collect();
        let is_known = |name: &str| known.iter().any(|one| matches(one, name));
        let unknown = names(uri).into_iter().filter(|name| !is_known(name));
        let faults: Vec<FieldError> =
            unknown.map(|name| fields::unknown(format!("/{name}"), &name, &known)).collect();
        if faults.is_empty() { Ok(()) } else { Err(faults) }
    }

    fn route(&self, method: &Method, extensions: &Extensions) -> Option<&Vec<String>> {
        let path = extensions.get::<MatchedPath>()?.as_str();
        let method = if method == Method::HEAD { Method::GET } else { method.clone() };
        let at = |path: String| self.0.get(&(method.clone(), path));
        at(path.to_owned()).or_else(|| at(format!("{DESCRIBED_AT}{path}")))
    }
}

/// Whether a name is the described one. One such as `candidate.{field}` stands for all that begin like it.
fn matches(described: &str, name: &str) -> bool {
    match described.split_once('{') {
        Some((beginning, _)) => name.starts_with(beginning),
        None => described == name,
    }
}

/// The names in a query. One that cannot be read is left to the route, which says so.
fn names(uri: &Uri) -> Vec<String> {
    let pairs = Query::<Vec<(String, String)>>::try_from_uri(uri);
    pairs.map(|Query(pairs)| pairs.into_iter().map(|(name, _)| name).collect()).unwrap_or_default()
}
