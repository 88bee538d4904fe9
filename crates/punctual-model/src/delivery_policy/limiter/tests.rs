use std::collections::VecDeque;

use proptest::prelude::*;

use super::*;

fn at(us: i64) -> Timestamp {
    Timestamp::from_microsecond(1_800_000_000_000_000 + us).unwrap()
}

fn rate(max: i64, seconds: u64) -> Rate {
    Rate { max, per: Duration::from_secs(seconds) }
}

#[test]
fn a_place_is_free_again_a_length_after_its_send_has_ended() {
    let rates = [rate(2, 10)];
    let mut limiter = Limiter::default().at(&rates, at(0));
    assert_eq!(limiter.free(&rates, Urgency::Urgent, at(0)), 2);
    limiter.take(2, at(60_000_000));
    assert_eq!(limiter.free(&rates, Urgency::Urgent, at(0)), 0);
    let (next, may_be_sooner) = limiter.next(&rates, Urgency::Urgent, at(0));
    assert!(
        may_be_sooner && next >= at(70_000_000),
        "a send under way holds its slot until it must have ended"
    );
    limiter.finish(2, at(60_000_000), at(3_000_000));
    let (next, may_be_sooner) = limiter.next(&rates, Urgency::Urgent, at(3_000_000));
    assert!(!may_be_sooner && next >= at(13_000_000) && next <= at(13_200_000), "{next}");
    assert_eq!(limiter.free(&rates, Urgency::Urgent, at(12_999_999)), 0);
    assert_eq!(limiter.free(&rates, Urgency::Urgent, next), 2);
    assert_eq!(Limiter::read(&limiter.written()), limiter);
    assert_eq!(
        limiter.at(&rates, at(60_000_000)),
        Limiter::default().at(&rates, at(0)),
        "what lapsed is forgotten"
    );
}

#[test]
fn a_campaign_leaves_something_for_others() {
    let rates = [rate(10, 86_400)];
    let mut limiter = Limiter::default().at(&rates, at(0));
    limiter.take(8, at(1));
    let free = Urgency::ALL.map(|urgency| limiter.free(&rates, urgency, at(0)));
    assert_eq!(free, [0, 1, 2]);
}

#[test]
fn the_smallest_of_several_rates_decides() {
    let rates = [rate(5, 1), rate(8, 3600)];
    let mut limiter = Limiter::default().at(&rates, at(0));
    limiter.take(5, at(0));
    limiter.finish(5, at(0), at(0));
    assert_eq!(limiter.free(&rates, Urgency::Urgent, at(2_000_000)), 3);
    limiter.take(3, at(2_000_000));
    limiter.finish(3, at(2_000_000), at(2_000_000));
    let (next, _) = limiter.next(&rates, Urgency::Urgent, at(9_000_000));
    assert!(next >= at(3_600_000_000), "{next}");
}

#[test]
fn a_limit_keeps_few_numbers_whatever_its_size() {
    let rates = [rate(100_000, 60)];
    let mut limiter = Limiter::default();
    for n in 0..100_000 {
        let now = at(n * 5_000);
        limiter = limiter.at(&rates, now);
        if limiter.free(&rates, Urgency::Urgent, now) > 0 {
            limiter.take(1, at(n * 5_000 + 60_000_000));
            limiter.finish(1, at(n * 5_000 + 60_000_000), at(n * 5_000 + 700));
        }
    }
    assert!(limiter.written().len() < 4_096, "{}", limiter.written().len());
}

/// The most arrivals in any window of this length.
fn most_within(arrivals: &[i64], per: i64) -> usize {
    let mut sorted = arrivals.to_vec();
    sorted.sort_unstable();
    let (mut window, mut most) = (VecDeque::new(), 0);
    for at in sorted {
        window.push_back(at);
        while window.front().is_some_and(|first| at - first >= per) {
            window.pop_front();
        }
        most = most.max(window.len());
    }
    most
}

proptest! {
    /// Whatever is asked when, however long each send takes and whenever it arrives in between, also when its end is
    /// never reported: no window has more than is allowed. And what waits for `next` gets a slot then.
    #[test]
    fn r12_no_window_has_more_than_the_limit(
        max in 1i64..12,
        seconds in 1u64..5,
        steps in prop::collection::vec((0i64..900_000, 0i64..6, 0i64..2_500_000, 0u8..100, any::<bool>()), 1..160),
    ) {
        let rates = [rate(max, seconds)];
        let per = rates[0].micros();
        let (mut limiter, mut now, mut arrivals) = (Limiter::default(), 0, Vec::new());
        let mut under_way: Vec<(i64, i64)> = Vec::new();
        for (pause, wanted, takes, arrives_after, is_lost) in steps {
            now += pause;
            for (until, ends) in std::mem::take(&mut under_way) {
                if ends <= now {
                    limiter = limiter.at(&rates, at(now));
                    limiter.finish(1, at(until), at(ends));
                } else {
                    under_way.push((until, ends));
                }
            }
            limiter = Limiter::read(&limiter.at(&rates, at(now)).written());
            let free = limiter.free(&rates, Urgency::Urgent, at(now)).min(wanted);
            if free == 0 {
                let (next, _) = limiter.next(&rates, Urgency::Urgent, at(now));
                prop_assert!(wanted == 0 || limiter.free(&rates, Urgency::Urgent, next) > 0);
                continue;
            }
            // No send takes longer than it may.
            let until = now + 3_000_000;
            limiter.take(free, at(until));
            for _ in 0..free {
                let ends = now + takes;
                arrivals.push(now + takes * i64::from(arrives_after) / 100);
                if !is_lost {
                    under_way.push((until, ends));
                }
            }
        }
        prop_assert!(most_within(&arrivals, per) <= usize::try_from(max).unwrap());
    }
}
