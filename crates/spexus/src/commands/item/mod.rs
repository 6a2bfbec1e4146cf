//! `spexus item …`

mod discuss;
mod read;
mod show;
mod write;

use crate::failure::Outcome;
use crate::output::Output;
use crate::session::Session;
use clap::Subcommand;

pub(super) use show::change;

/// What can be done with items.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Makes an item
    Create(write::Create),
    /// Shows one item
    Get(read::Get),
    /// Shows everything that is needed to work on an item
    Context(read::ContextOf),
    /// Lists items
    List(read::List),
    /// Changes the fields that are given
    Update(write::Update),
    /// Moves an item to another container or place
    Move(write::Move),
    /// Deletes an item; with --force also what falls with it
    Delete(write::Delete),
    /// Brings a deleted item back, with what fell with it
    Restore(write::Restore),
    /// Shows everything below an item
    Tree(read::TreeOf),
    /// Links two items
    Link(discuss::LinkTo),
    /// Ends a link
    Unlink(discuss::Unlink),
    /// Says that a suspect link still holds
    Confirm(discuss::Confirm),
    /// Lists the links of an item
    Links(discuss::Links),
    /// Comments on an item, or answers a comment
    Comment(discuss::CommentOn),
    /// Lists the comments of an item
    Comments(discuss::Comments),
    /// Settles the thread of a comment, or opens it again
    Resolve(discuss::Resolve),
    /// Shows what happened to an item
    History(read::History),
}

impl Command {
    /// Whether it looks for items in a project; links and comments are named by their own ids, wherever they are.
    pub(super) fn is_in_a_project(&self) -> bool {
        !matches!(self, Self::Unlink(_) | Self::Confirm(_) | Self::Resolve(_))
    }
}

pub(super) async fn run(session: &Session, output: Output, command: Command) -> Outcome {
    match command {
        Command::Create(wanted) => write::create(session, output, wanted).await,
        Command::Get(wanted) => read::get(session, output, &wanted).await,
        Command::Context(wanted) => read::context(session, output, wanted).await,
        Command::List(wanted) => read::list(session, output, wanted).await,
        Command::Update(wanted) => write::update(session, output, wanted).await,
        Command::Move(wanted) => write::move_to(session, output, wanted).await,
        Command::Delete(wanted) => write::delete(session, output, &wanted).await,
        Command::Restore(wanted) => write::restore(session, output, &wanted).await,
        Command::Tree(wanted) => read::tree(session, output, &wanted).await,
        Command::Link(wanted) => discuss::link(session, output, wanted).await,
        Command::Unlink(wanted) => discuss::unlink(session, output, &wanted).await,
        Command::Confirm(wanted) => discuss::confirm(session, output, &wanted).await,
        Command::Links(wanted) => discuss::links(session, output, &wanted).await,
        Command::Comment(wanted) => discuss::comment(session, output, wanted).await,
        Command::Comments(wanted) => discuss::comments(session, output, wanted).await,
        Command::Resolve(wanted) => discuss::resolve(session, output, &wanted).await,
        Command::History(wanted) => read::history(session, output, wanted).await,
    }
}
