//! Which projects a caller may see: one question, asked here and nowhere else. What is not visible does not exist for
//! the caller: it is not found, not counted, not named and not touched.

use crate::account::Caller;
use uuid::Uuid;

/// The projects a caller may see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Visibility {
    /// Every project of the installation.
    Every,
    /// The one project a token is bound to.
    Only(Uuid),
}

impl Visibility {
    /// Whether a project may be seen.
    pub fn sees(self, project_id: Uuid) -> bool {
        match self {
            Visibility::Every => true,
            Visibility::Only(visible) => visible == project_id,
        }
    }

    /// Whether nothing is hidden, so that nothing has to be looked for.
    pub fn is_complete(self) -> bool {
        self == Visibility::Every
    }
}

impl Caller {
    /// The projects this caller may see.
    pub fn visibility(&self) -> Visibility {
        self.bound_project.map_or(Visibility::Every, Visibility::Only)
    }

    /// Whether this caller may see a project.
    pub fn sees(&self, project_id: Uuid) -> bool {
        self.visibility().sees(project_id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_token_sees_its_project_and_no_other() {
        let (own, other) = (Uuid::from_u128(1), Uuid::from_u128(2));
        assert!(Visibility::Every.sees(own) && Visibility::Every.sees(other));
        assert!(Visibility::Only(own).sees(own) && !Visibility::Only(own).sees(other));
        assert!(!Visibility::Only(own).is_complete());
    }
}
