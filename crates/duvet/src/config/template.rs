//! Links with variables: `https://host/${{ REPO || 'owner/name' }}/blob`.

/// Replaces each `${{ A || 'b' }}` by the first variable that is set or the first literal; the error names what could
/// not be resolved.
pub fn expand(template: &str, variable: &dyn Fn(&str) -> Option<String>) -> Result<String, String> {
    let mut out = String::with_capacity(template.len());
    let mut rest = template;
    while let Some((before, after)) = rest.split_once("${{") {
        let (expression, behind) = after
            .split_once("}}")
            .ok_or_else(|| format!("`${{{{{after}` is not closed by `}}}}`"))?;
        out.push_str(before);
        out.push_str(&resolve(expression.trim(), variable)?);
        rest = behind;
    }
    out.push_str(rest);
    Ok(out)
}

fn resolve(expression: &str, variable: &dyn Fn(&str) -> Option<String>) -> Result<String, String> {
    let choices = expression.split("||").map(str::trim);
    choices
        .filter_map(
            |choice| match choice.strip_prefix('\'').and_then(|c| c.strip_suffix('\'')) {
                Some(literal) => Some(literal.to_owned()),
                None => variable(choice),
            },
        )
        .next()
        .ok_or_else(|| format!("none of `{expression}` is set"))
}
