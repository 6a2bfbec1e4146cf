//! People an import speaks of. Whoever is not known here becomes a disabled account that keeps the name.

use crate::account::password::Passwords;
use crate::setup;
use spexus_domain::account::{Role, User};
use spexus_domain::attribute::Attributes;
use spexus_domain::change::{Action, Entity, NewChange};
use spexus_domain::item::Person;
use spexus_domain::{Ruled, text};
use spexus_store::{Result, Tx, accounts};
use std::collections::HashMap;

/// The people met so far.
pub(super) struct People {
    known: HashMap<String, Person>,
    /// A password nobody knows.
    password_hash: String,
    /// The accounts that were made.
    pub(super) made: Vec<String>,
}

impl People {
    pub(super) async fn new(passwords: &Passwords) -> Ruled<Self> {
        let secret = hex::encode(setup::random_bytes()?);
        Ok(Self {
            known: HashMap::new(),
            password_hash: passwords.hash(&secret).await?,
            made: Vec::new(),
        })
    }

    /// The person of a name; a disabled account is made for a new one.
    pub(super) async fn find(&mut self, tx: &mut Tx, field: &str, username: &str) -> Result<Person> {
        if let Some(person) = self.known.get(username) {
            return Ok(person.clone());
        }
        //= specs/spexus.md#transfer
        //# A user an import speaks of and nobody here has MUST become a disabled account.
        let user = match accounts::by_name(&mut tx.conn, username).await? {
            Some(found) => found.user,
            None => {
                self.made.push(username.to_owned());
                self.make(tx, field, username, Role::Commenter, false).await?
            }
        };
        let person = Person {
            id: user.id,
            username: user.username,
        };
        self.known.insert(username.to_owned(), person.clone());
        Ok(person)
    }

    /// Who stands for each name met so far.
    pub(super) fn met(&self) -> impl Iterator<Item = (&String, &Person)> {
        self.known.iter()
    }

    /// Makes an account nobody can log in to until an administrator sets a password.
    pub(super) async fn make(
        &self,
        tx: &mut Tx,
        field: &str,
        username: &str,
        role: Role,
        active: bool,
    ) -> Result<User> {
        let (id, now) = (tx.new_id(), tx.now());
        let user = User {
            id,
            username: text::username(field, username)?,
            email: None,
            role,
            active,
            owner: None,
            owner_id: None,
            rev: 1,
            created_at: now,
            updated_at: now,
        };
        accounts::insert(tx, &user, &self.password_hash).await?;
        let fields = Attributes::from_iter([
            ("username".to_owned(), username.into()),
            ("role".to_owned(), role.name().into()),
            ("active".to_owned(), active.into()),
        ]);
        let change = NewChange::new(Entity::User, id, username, Action::Created, 1).fields(None, fields);
        tx.record(change).await?;
        Ok(user)
    }
}
