use super::*;

const ZERO: &str = "2026-05-14T05:00:00Z";

fn start() -> Timestamp {
    ZERO.parse().unwrap()
}

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// A sample whose answer came at `at`, after a round trip, from a clock that is `off` milliseconds from the one of
/// the test; the reference is asked in the middle.
fn sample(at: u64, round_trip: u64, off: i64) -> Sample {
    let middle = at as i64 - round_trip as i64 / 2;
    Sample {
        sent: ms(at - round_trip),
        received: ms(at),
        theirs: start() + SignedDuration::from_millis(middle + off),
    }
}

fn shown(clock: &Discipline, at: u64) -> i64 {
    clock.now(ms(at)).duration_since(start()).as_millis() as i64
}

#[test]
fn the_time_is_the_references_and_passes_with_the_monotonic_clock() {
    let clock = Discipline::new(Reference::Database, sample(100, 2, 7_200_000));
    assert_eq!(shown(&clock, 100), 7_200_100);
    assert_eq!(shown(&clock, 60_100), 7_260_100);
}

#[test]
fn of_ten_samples_the_one_with_the_smallest_round_trip_counts() {
    let mut clock = Discipline::new(Reference::Database, sample(1_000, 2, 0));
    // Asymmetric: asked in the middle, but answered late, so that the offset looks wrong by 20 ms.
    for n in 1..10 {
        let mut slow = sample(1_000 + n * 5_000, 40, 0);
        slow.theirs += SignedDuration::from_millis(20);
        assert!(!clock.sampled(slow));
    }
    assert_eq!(shown(&clock, 60_000), 60_000);
    let mut slow = sample(51_000, 40, 0);
    slow.theirs += SignedDuration::from_millis(20);
    assert!(clock.sampled(slow), "the good one is too old now");
    assert_eq!(shown(&clock, 60_000), 60_020);
}

#[test]
fn small_corrections_are_slewed_and_never_go_backwards() {
    for off in [-400, 400] {
        let mut clock = Discipline::new(Reference::Database, sample(1_000, 2, 0));
        assert!(clock.sampled(sample(6_000, 2, off)));
        assert_eq!(shown(&clock, 6_000), 6_000, "nothing changes at once");
        let mut before = shown(&clock, 6_000);
        for at in (6_000..8_000).step_by(10) {
            let now = shown(&clock, at);
            assert!((5..=15).contains(&(now - before)) || now == before && at == 6_000, "{before} {now}");
            before = now;
        }
        assert_eq!(shown(&clock, 6_900), 6_900 + off, "twice the correction later it is made");
    }
}

#[test]
fn a_reference_that_was_set_forward_is_followed_at_once() {
    let mut clock = Discipline::new(Reference::Database, sample(1_000, 2, 0));
    assert!(clock.sampled(sample(6_000, 30, 3_600_000)));
    assert_eq!(shown(&clock, 6_000), 3_606_000);
    assert_eq!(clock.doubt(ms(6_000), ms(30_000)), None);
}

#[test]
fn a_reference_that_was_set_back_is_waited_for_at_half_speed_and_doubted_meanwhile() {
    let mut clock = Discipline::new(Reference::Database, sample(1_000, 2, 0));
    assert!(clock.sampled(sample(6_000, 2, -90_000)));
    assert_eq!(shown(&clock, 6_000), 6_000);
    assert_eq!(shown(&clock, 16_000), 11_000);
    assert_eq!(clock.doubt(ms(6_000), ms(30_000)), Some(Doubt::Ahead { by: Duration::from_secs(90) }));
    // Sampled every five seconds, as it would be.
    for at in (11_000..=186_000).step_by(5_000) {
        clock.sampled(sample(at, 2, -90_000));
    }
    assert_eq!(shown(&clock, 186_000), 96_000);
    assert_eq!(clock.doubt(ms(186_000), ms(30_000)), None);
}

#[test]
fn without_a_young_sample_there_is_doubt_but_time_goes_on() {
    let mut clock = Discipline::new(Reference::Database, sample(1_000, 2, 0));
    assert_eq!(clock.doubt(ms(31_000), ms(30_000)), None);
    let age = ms(30_001);
    assert_eq!(clock.doubt(ms(31_001), ms(30_000)), Some(Doubt::NoSample { age }));
    assert_eq!(shown(&clock, 31_001), 31_001);
    clock.sampled(sample(32_000, 500, 0));
    assert_eq!(clock.doubt(ms(32_001), ms(30_000)), None);
}

#[test]
fn an_own_clock_that_leaps_forward_is_believed_at_the_second_look() {
    let mut clock = Discipline::new(Reference::Own, sample(1_000, 0, 0));
    assert!(!clock.sampled(sample(2_000, 0, 7_200_000)));
    assert_eq!(shown(&clock, 2_000), 2_000);
    let leapt = Some(Doubt::Leapt { by: Duration::from_secs(7_200) });
    assert_eq!(clock.doubt(ms(2_000), ms(1)), leapt);
    assert!(!clock.sampled(sample(4_000, 0, 7_200_000)), "too soon for a second look");
    assert!(clock.sampled(sample(7_000, 0, 7_200_000)));
    assert_eq!((shown(&clock, 7_000), clock.doubt(ms(7_000), ms(1))), (7_207_000, None));
}

#[test]
fn a_leap_that_is_gone_at_the_second_look_never_happened() {
    let mut clock = Discipline::new(Reference::Own, sample(1_000, 0, 0));
    clock.sampled(sample(2_000, 0, 7_200_000));
    clock.sampled(sample(3_000, 0, 0));
    assert_eq!((shown(&clock, 9_000), clock.doubt(ms(9_000), ms(1))), (9_000, None));
    // One that continues leaping is never the same twice.
    for at in 10..30 {
        assert!(!clock.sampled(sample(at * 1_000, 0, at as i64 * 20_000)));
    }
}

#[test]
fn an_own_clock_that_was_wrong_and_is_set_right_is_reached_again_without_going_back() {
    let mut clock = Discipline::new(Reference::Own, sample(1_000, 0, 7_200_000));
    clock.sampled(sample(2_000, 0, 0));
    assert_eq!(shown(&clock, 2_000), 7_202_000);
    for at in 3..14_500 {
        clock.sampled(sample(at * 1_000, 0, 0));
    }
    assert_eq!(shown(&clock, 14_500_000), 14_500_000, "twice the error later it shows the right time");
}

#[test]
fn what_an_earlier_run_has_shown_is_never_undercut() {
    let mut clock = Discipline::new(Reference::Own, sample(1_000, 0, -3_600_000));
    clock.not_before(start() + SignedDuration::from_secs(10), ms(1_000));
    assert_eq!(shown(&clock, 1_000), 10_000);
    assert_eq!(shown(&clock, 3_000), 11_000);
    // The machine finds out what time it is: the mark does not keep the node in the past.
    clock.sampled(sample(4_000, 0, 0));
    clock.sampled(sample(9_000, 0, 0));
    assert_eq!((shown(&clock, 9_000), shown(&clock, 19_000)), (14_000, 19_000));
    let mut fine = Discipline::new(Reference::Own, sample(1_000, 0, 0));
    fine.not_before(start(), ms(1_000));
    assert_eq!(shown(&fine, 2_000), 2_000);
}

#[test]
fn a_wait_ends_when_the_time_has_come_and_hardly_later() {
    for off in [-90_000, -400, -1, 0, 1, 400, 90_000] {
        let mut clock = Discipline::new(Reference::Database, sample(1_000, 2, 0));
        clock.sampled(sample(6_000, 2, off));
        for wait in [0, 1, 7, 333, 5_000, 200_000] {
            let time = clock.now(ms(6_000)) + SignedDuration::from_millis(wait);
            let end = clock.reaches(time);
            assert!(clock.now(end) >= time, "{off} {wait}");
            let late = clock.now(end).duration_since(time);
            assert!(wait == 0 || late <= SignedDuration::from_micros(4), "{off} {wait}: {late}");
        }
    }
}
