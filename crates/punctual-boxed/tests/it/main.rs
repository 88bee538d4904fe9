//! What `#[boxed]` makes of the shapes that async functions here have.

use std::{
    mem::size_of_val,
    pin::{Pin, pin},
    task::{Context, Poll, Waker},
};

use punctual_boxed::boxed;

/// A connection, as the store's: borrowed mutably, with a lifetime of its own.
struct Conn<'c>(&'c mut Vec<String>);

struct Book {
    names: Vec<String>,
}

impl Book {
    #[boxed]
    async fn longest(&self) -> Option<&str> {
        self.names.iter().map(String::as_str).max_by_key(|name| name.len())
    }

    #[boxed]
    async fn into_names(self) -> Vec<String> {
        self.names
    }
}

#[boxed]
async fn write(conn: &mut Conn<'_>, names: &[&str], wanted: &(dyn Fn(&str) -> bool + Sync)) {
    conn.0.extend(names.iter().filter(|name| wanted(name)).map(|name| (*name).to_owned()));
}

#[boxed]
async fn sum(numbers: &[&str]) -> Result<i64, std::num::ParseIntError> {
    let mut rest = numbers.iter();
    let mut sum = 0;
    loop {
        let Some(number) = rest.next() else { return Ok(sum) };
        sum += number.parse::<i64>()?;
    }
}

#[boxed]
async fn much() -> usize {
    let kept = [1_u8; 4096];
    std::future::ready(()).await;
    kept.len()
}

/// Nothing here waits, so one look is enough.
fn now<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("it waits"),
    }
}

#[test]
fn what_is_borrowed_may_be_used_again_afterwards() {
    let mut kept = Vec::new();
    let mut conn = Conn(&mut kept);
    now(write(&mut conn, &["a", "bb"], &|name| name.len() > 1));
    now(write(&mut conn, &["ccc"], &|_| true));
    assert_eq!(kept, ["bb", "ccc"]);
}

#[test]
fn answers_may_borrow_and_functions_may_take_what_they_are_called_on() {
    let book = Book { names: vec!["a".into(), "bb".into()] };
    assert_eq!(now(book.longest()), Some("bb"));
    assert_eq!(now(book.into_names()), ["a", "bb"]);
}

#[test]
fn a_question_mark_and_a_return_leave_the_function() {
    assert_eq!(now(sum(&["1", "2"])), Ok(3));
    assert!(now(sum(&["1", "x"])).is_err());
}

#[test]
fn a_future_is_a_pointer_that_may_go_to_another_thread() {
    let future: Pin<Box<dyn Future<Output = usize> + Send>> = much();
    assert_eq!(size_of_val(&future), 2 * size_of::<usize>());
    assert_eq!(std::thread::spawn(move || now(future)).join().unwrap(), 4096);
}
