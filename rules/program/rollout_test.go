package program

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// list makes items from words: each names how the item at that place stands.
func list(words string) []rolloutItem {
	var items []rolloutItem
	for i, word := range strings.Fields(words) {
		it := rolloutItem{Name: fmt.Sprintf("web-%d", i), Index: i, Exists: word != "absent"}
		switch word {
		case "absent":
			it.NotReady = Waiting("it does not exist yet")
		case "starting", "outdated-starting":
			it.NotReady = Waiting("InProgress")
		case "failed", "outdated-failed":
			it.NotReady, it.Failed = Waiting("Failed"), true
		}
		it.Outdated = strings.HasPrefix(word, "outdated")
		items = append(items, it)
	}
	return items
}

func TestDecide(t *testing.T) {
	one := rolloutPolicy{MaxUnavailable: 1}
	ordered := rolloutPolicy{MaxUnavailable: 1, Ordered: true}
	tests := map[string]struct {
		policy rolloutPolicy
		items  string
		gap    rolloutGap
		steps  []rolloutStep
		// waits and postponed are the messages; of postponed the first.
		waits, postponed string
		stalled          bool
	}{
		"nothing to update": {policy: one, items: "ready ready", steps: []rolloutStep{proceed, proceed}},
		"the last goes first": {
			policy: one, items: "outdated outdated outdated", steps: []rolloutStep{hold, hold, proceed},
			waits: "rollout: 2 of 3 items are still to be updated",
		},
		"as many as may be unavailable": {
			policy: rolloutPolicy{MaxUnavailable: 2}, items: "outdated outdated outdated", steps: []rolloutStep{hold, proceed, proceed},
			waits: "rollout: 1 of 3 items are still to be updated",
		},
		"the updated one is awaited": {
			policy: one, items: "outdated outdated starting", steps: []rolloutStep{hold, hold, proceed},
			waits: "rollout: 2 of 3 items are still to be updated; waits for web-2: InProgress",
		},
		"one that failed stalls it": {
			policy: one, items: "outdated failed", steps: []rolloutStep{hold, proceed},
			waits: "rollout: 1 of 2 items are still to be updated; waits for web-1: Failed", stalled: true,
		},
		"one that is not ready anyway is mended before those that are": {
			policy: one, items: "outdated-failed outdated", steps: []rolloutStep{proceed, hold},
			waits: "rollout: 1 of 2 items are still to be updated; waits for web-0: Failed", stalled: true,
		},
		"what is under way is named, not what has yet to be mended": {
			policy: one, items: "starting outdated-starting", steps: []rolloutStep{proceed, hold},
			waits: "rollout: 1 of 2 items are still to be updated; waits for web-0: InProgress",
		},
		"what does not exist is created in any case": {
			policy: one, items: "absent absent outdated", steps: []rolloutStep{proceed, proceed, hold},
			waits: "rollout: 1 of 3 items are still to be updated; waits for web-1: it does not exist yet",
		},
		"items that could not be rendered count as not ready": {
			policy: one, items: "outdated outdated", gap: rolloutGap{Count: 1}, steps: []rolloutStep{hold, hold},
			waits: "rollout: 2 of 2 items are still to be updated",
		},
		"below the partition nothing is updated, and nothing is awaited": {
			policy: rolloutPolicy{MaxUnavailable: 3, Partition: 2}, items: "outdated outdated outdated", steps: []rolloutStep{hold, hold, proceed},
		},
		"a limit that is not known yet": {
			policy: rolloutPolicy{Unknown: Waiting("parent.status.share is not there yet").Under("maxUnavailable")},
			items:  "ready outdated", steps: []rolloutStep{proceed, hold},
			waits: "rollout.maxUnavailable: 1 of 2 items are still to be updated; parent.status.share is not there yet",
		},
		"a limit that has no value": {
			policy: rolloutPolicy{Unknown: Failure("must be a number").Under("maxUnavailable")},
			items:  "outdated", steps: []rolloutStep{hold}, stalled: true,
			waits: "rollout.maxUnavailable: 1 of 1 items are still to be updated; must be a number",
		},
		"in order, the first is created": {
			policy: ordered, items: "absent absent absent", steps: []rolloutStep{proceed, postpone, postpone},
			postponed: "rollout.order: web-1 is created when those before it are ready: web-0: it does not exist yet",
		},
		"in order, behind one that failed": {
			policy: ordered, items: "failed absent", steps: []rolloutStep{proceed, postpone}, stalled: true,
			postponed: "rollout.order: web-1 is created when those before it are ready: web-0: Failed",
		},
		"in order, what exists behind it goes on": {
			policy: ordered, items: "starting absent ready", steps: []rolloutStep{proceed, postpone, proceed},
			postponed: "rollout.order: web-1 is created when those before it are ready: web-0: InProgress",
		},
		"in order, behind one that could not be rendered": {
			policy: ordered, items: "ready absent absent", gap: rolloutGap{Count: 1, After: 1, Why: Failure("must be a string")},
			steps:     []rolloutStep{proceed, proceed, postpone},
			postponed: "rollout.order: web-2 is created when those before it are ready: web-1: it does not exist yet",
		},
		"in order, what is not created yet is unavailable and not awaited": {
			policy: ordered, items: "outdated starting absent", steps: []rolloutStep{hold, proceed, postpone},
			waits:     "rollout: 1 of 3 items are still to be updated; waits for web-1: InProgress",
			postponed: "rollout.order: web-2 is created when those before it are ready: web-1: InProgress",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			d := decideRollout(test.policy, list(test.items), test.gap)
			if diff := cmp.Diff(test.steps, d.Steps); diff != "" {
				t.Errorf("steps (-want +got):\n%s", diff)
			}
			if got := text(d.Waits); got != test.waits {
				t.Errorf("waits\n for %q,\nwant %q", got, test.waits)
			}
			if got := firstPostponed(d); got != test.postponed {
				t.Errorf("postponed\n for %q,\nwant %q", got, test.postponed)
			}
			if d.Stalled != test.stalled {
				t.Errorf("stalled is %t", d.Stalled)
			}
		})
	}
}

// TestConvergence carries out what is decided until nothing is held back: as long as what is updated becomes ready, every
// rollout ends, and no more items are unavailable than may be.
func TestConvergence(t *testing.T) {
	for limit := 1; limit <= 5; limit++ {
		for _, ordered := range []bool{false, true} {
			items := list("absent outdated outdated-starting ready outdated absent")
			rounds := 0
			for d := decideRollout(rolloutPolicy{MaxUnavailable: limit, Ordered: ordered}, items, rolloutGap{}); !done(items); rounds++ {
				if rounds > 2*len(items) {
					t.Fatalf("limit %d, ordered %t: no end in %d rounds", limit, ordered, rounds)
				}
				if changed := updated(items, d.Steps); changed > limit {
					t.Errorf("limit %d, ordered %t: %d items that were ready are updated at once", limit, ordered, changed)
				}
				for i, step := range d.Steps {
					if step == proceed {
						items[i].Exists, items[i].Outdated, items[i].NotReady = true, false, nil
					}
				}
				d = decideRollout(rolloutPolicy{MaxUnavailable: limit, Ordered: ordered}, items, rolloutGap{})
			}
		}
	}
}

func done(items []rolloutItem) bool {
	for i := range items {
		if items[i].Outdated || items[i].NotReady != nil {
			return false
		}
	}
	return true
}

// updated counts the items that were ready and are updated.
func updated(items []rolloutItem, steps []rolloutStep) int {
	n := 0
	for i, step := range steps {
		if step == proceed && items[i].Outdated && items[i].NotReady == nil {
			n++
		}
	}
	return n
}

func firstPostponed(d rolloutDecision) string {
	for i, step := range d.Steps {
		if step == postpone {
			return text(d.Postponed[i])
		}
	}
	return ""
}
