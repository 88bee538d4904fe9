//! What is recorded, and what it is a part of.

use std::sync::Mutex;

use super::*;
use crate::ManualClock;

#[derive(Default)]
struct Kept(Mutex<Vec<FinishedSpan>>);

impl SpanSink for Kept {
    fn take(&self, span: FinishedSpan) {
        self.0.lock().unwrap().push(span);
    }
    fn counts(&self) -> SpanCounts {
        SpanCounts::default()
    }
}

struct Counting(Mutex<u64>);

impl Random for Counting {
    fn bytes(&self, into: &mut [u8]) {
        let mut state = self.0.lock().unwrap();
        for byte in into {
            // The steps of splitmix64.
            *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mixed = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            *byte = (mixed >> 56) as u8;
        }
    }
}

fn recording(ratio: f64) -> (Traces, Arc<Kept>, Arc<ManualClock>) {
    let (traces, kept) = (Traces::default(), Arc::<Kept>::default());
    let clock = Arc::new(ManualClock::new(Timestamp::UNIX_EPOCH));
    traces.record(kept.clone(), clock.clone(), Arc::new(Counting(Mutex::new(1))), ratio);
    (traces, kept, clock)
}

const CALLER: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

#[test]
fn nothing_is_recorded_before_there_is_a_place_for_it() {
    let traces = Traces::default();
    assert!(!traces.is_on());
    assert!(traces.request("GET", TraceParent::parse(CALLER)).context().is_none());
    assert_eq!(size_of::<Span>(), size_of::<usize>());
}

#[test]
fn a_request_is_a_part_of_its_callers_trace_and_follows_its_word_on_recording() {
    let (traces, kept, _) = recording(0.0);
    let caller = TraceParent::parse(CALLER).unwrap();
    let span = traces.request("POST", Some(caller));
    let context = span.context().unwrap();
    drop(span);
    let not_sampled = TraceParent::parse(&CALLER.replace("-01", "-00"));
    assert!(traces.request("POST", not_sampled).context().is_none());
    assert!(traces.request("POST", None).context().is_none(), "the ratio is 0");
    let kept = kept.0.lock().unwrap();
    assert_eq!(kept.len(), 1);
    assert_eq!((kept[0].parent, kept[0].parent_is_remote), (Some(caller), true));
    assert_eq!(context.trace_id(), caller.trace_id());
    assert_ne!(context.span_id(), caller.span_id());
}

#[test]
fn the_ratio_is_the_share_of_traces_that_begin_here() {
    let (traces, kept, _) = recording(0.25);
    for _ in 0..4_000 {
        traces.root("x", SpanKind::Internal);
    }
    let count = kept.0.lock().unwrap().len();
    assert!((900..1_100).contains(&count), "{count}");
}

#[test]
fn what_follows_soon_is_in_the_trace_and_what_follows_late_is_linked_to_it() {
    let (traces, kept, clock) = recording(0.0);
    let earlier = TraceParent::parse(CALLER).unwrap();
    let stored_at = clock.now();
    clock.set(stored_at + ONE_TRACE_FOR);
    drop(traces.follow("soon", SpanKind::Consumer, earlier, stored_at));
    clock.set(stored_at + ONE_TRACE_FOR + SignedDuration::from_secs(1));
    drop(traces.follow("late", SpanKind::Consumer, earlier, stored_at));
    let kept = kept.0.lock().unwrap();
    assert_eq!((kept[0].parent, kept[0].links.len()), (Some(earlier), 0));
    let late = &kept[1];
    assert_eq!((late.parent, &late.links[..]), (None, &[earlier][..]));
    assert_ne!(late.context.trace_id(), earlier.trace_id());
}

#[test]
fn a_batch_is_one_span_with_a_bounded_number_of_links() {
    let (traces, kept, _) = recording(1.0);
    let one = TraceParent::parse(CALLER).unwrap();
    drop(traces.batch("claim", std::iter::repeat_n(one, 500)));
    drop(traces.batch("claim", []));
    let kept = kept.0.lock().unwrap();
    assert_eq!((kept.len(), kept[0].links.len()), (1, LINKS_MAX));
}
