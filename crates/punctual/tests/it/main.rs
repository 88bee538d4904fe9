//! The shipped binary as a child process: started, used, killed and started again.

mod crash_points;
mod definitions;
mod first_minutes;
mod kill;
mod operations;
mod receiver;
mod reminders;
mod reports;
mod roles;
mod secrets;
mod server;
mod site;
mod site_kill;
mod stop;
mod surveys;
