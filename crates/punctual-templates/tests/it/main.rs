//! What an author and an attacker see of templates.

mod attacks;
mod properties;
mod rendering;

use punctual_templates::{RenderFault, Rendered, Variant};

/// Renders a body alone.
fn body(text: &str, context: &serde_json::Value) -> Result<String, RenderFault> {
    let variant = Variant { body: text.to_owned(), ..Variant::default() };
    punctual_templates::render(&variant, context).map(|rendered: Rendered| rendered.body)
}
