package patching

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/engine/operator"
	"kanon.dev/kanon/engine/queue"
)

// rig does with a book what an engine does, one key after the other, and counts.
type rig struct {
	book     *ledgers
	revision *operator.Plan
	// says is what a parent sets.
	says             func(parent int) *contribution
	parents, targets []queue.Key // to be worked on
	// waiting are the keys in these.
	waiting queue.Keys
	costs   costs
	// known are the parents that know the problems of their contributions.
	known map[string]bool
}

// costs are what counts: passes of parents, work on targets, the parts that it put
// together, and the keys that calls returned.
type costs struct{ passes, works, parts, keys int }

func newRig(parents int, says func(parent int) *contribution) *rig {
	r := &rig{
		book: newLedgers(), revision: newRevision("ConfigMap"), says: says,
		waiting: queue.Keys{}, known: map[string]bool{},
	}
	r.book.expect(r.revision)
	all := make(map[types.NamespacedName]contributor, parents)
	for i := range parents {
		all[name(fmt.Sprint(i))] = younger
	}
	r.add(r.book.begin(r.revision, all, nil)...)
	for i := range parents {
		r.add(parentKey(fmt.Sprint(i)))
	}
	return r
}

func (r *rig) add(keys ...queue.Key) {
	r.costs.keys += len(keys)
	for _, k := range keys {
		if !r.waiting[k] {
			r.waiting[k] = true
			if k.Patch == "" {
				r.parents = append(r.parents, k)
			} else {
				r.targets = append(r.targets, k)
			}
		}
	}
}

// run works until nothing is left to do, and returns what all cost since it was asked last.
func (r *rig) run() costs {
	r.drain()
	cost := r.costs
	r.costs = costs{}
	return cost
}

// drain works until nothing is left to do.
func (r *rig) drain() {
	for len(r.parents)+len(r.targets) > 0 {
		// Parents go before targets, as where other workers have time for them at once.
		from := &r.parents
		if len(r.parents) == 0 {
			from = &r.targets
		}
		k := (*from)[0]
		*from = (*from)[1:]
		delete(r.waiting, k)
		if k.Patch != "" {
			r.work(k)
		} else {
			r.pass(k)
		}
	}
}

func (r *rig) pass(k queue.Key) {
	r.costs.passes++
	var i int
	_, _ = fmt.Sscan(k.Parent.Name, &i)
	if now := r.says(i); now == nil {
		r.add(r.book.drop(r.revision, k.Parent)...)
	} else {
		r.add(r.book.set(r.revision, k.Parent, "p", now)...)
		_, awaited := r.book.problemsOf(r.revision, k.Parent, "p")
		r.known[k.Parent.Name] = !awaited
	}
	r.add(r.book.reconciled(r.revision, k.Parent)...)
}

func (r *rig) work(k queue.Key) {
	r.costs.works++
	saw, _ := r.book.collect(r.revision, k)
	r.costs.parts += len(saw.parts)
	came := problem("")
	if saw.pending {
		came = problem("later")
	}
	r.add(r.book.finish(k, saw, came, nil)...)
}

// sum is a cost as a number.
func (c costs) sum() int { return c.passes + c.works + c.parts + c.keys }

func targetsNamed(prefix string, n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprint(prefix, i)
	}
	return names
}

// What the account costs grows as the work does: with the number of parents, whether each
// has a target of its own or all have the same; and with the number of targets.
func TestCostsAreLinear(t *testing.T) {
	own := func(i int) *contribution { return sets(younger, fmt.Sprint("own-", i)) }
	one := func(int) *contribution { return sets(younger, "one") }
	unknown := func(int) *contribution { return &contribution{contributor: younger, Open: true} }
	for what, costOf := range map[string]func(n int) costs{
		"a start, each parent with a target of its own": func(n int) costs { return newRig(n, own).run() },
		"a start, all parents with one target":          func(n int) costs { return newRig(n, one).run() },
		"a start, one parent with many targets": func(n int) costs {
			targets := targetsNamed("t", n)
			return newRig(1, func(int) *contribution { return sets(younger, targets...) }).run()
		},
		"another revision, each parent with a target of its own": func(n int) costs {
			r := newRig(n, own)
			r.run()
			again := newRig(n, own)
			again.book = r.book
			again.book.expect(again.revision)
			all := make(map[types.NamespacedName]contributor, n)
			for i := range n {
				all[name(fmt.Sprint(i))] = younger
			}
			again.add(again.book.begin(again.revision, all, nil)...)
			return again.run()
		},
		"all of them change, one after the other, each its own": func(n int) costs {
			r := newRig(n, own)
			r.run()
			r.says = func(i int) *contribution { return sets(younger, fmt.Sprint("other-", i)) }
			for i := range n {
				r.add(parentKey(fmt.Sprint(i)))
				r.drain()
			}
			return r.run()
		},
		"all of them go, one after the other": func(n int) costs {
			r := newRig(n, own)
			r.run()
			r.says = func(int) *contribution { return nil }
			for i := range n {
				r.add(parentKey(fmt.Sprint(i)))
				r.drain()
			}
			return r.run()
		},
		"many that were never known become so, in any order": func(n int) costs {
			r := newRig(n, unknown)
			r.run()
			for i := range n { // what they contributed before, as the targets themselves tell
				r.add(targetKey(fmt.Sprint("own-", i)))
			}
			r.says = own
			for i := range n {
				r.add(parentKey(fmt.Sprint(i)))
			}
			return r.run()
		},
		"one of many changes what all have a part of": func(n int) costs {
			r := newRig(n, one)
			r.run()
			r.says = func(int) *contribution { return sets(elder, "one") } // another parent of that name
			r.add(parentKey("7"))
			return r.run()
		},
	} {
		t.Run(what, func(t *testing.T) {
			const n = 400
			half, whole := costOf(n), costOf(2*n)
			if whole.sum() > 2*half.sum()+half.sum()/4 {
				t.Errorf("twice as many cost %+v instead of %+v", whole, half)
			}
			if most := 30 * n; half.sum() > most {
				t.Errorf("%d cost %+v, all in all more than %d", n, half, most)
			}
		})
	}
}

// Until all parents were reconciled, what they set in one target is put together once,
// and each of them is reconciled once more, when that is done.
func TestOneWorkForAllParents(t *testing.T) {
	const n = 100
	r := newRig(n, func(int) *contribution { return sets(younger, "one") })
	cost := r.run()
	if cost.works != 1 || cost.parts != n || cost.passes != 2*n || len(r.known) != n {
		t.Errorf("a start of %d parents cost %+v, want one work on the target and two passes each", n, cost)
	}
	r.add(parentKey("7"))
	if cost := r.run(); cost.works != 0 || cost.passes != 1 {
		t.Errorf("a pass that comes to the same cost %+v", cost)
	}
}

// A parent with many targets is reconciled when all of them were worked on, not for each.
func TestParentOfManyTargets(t *testing.T) {
	const n = 100
	targets := targetsNamed("t", n)
	r := newRig(1, func(int) *contribution { return sets(younger, targets...) })
	if cost := r.run(); cost.passes != 2 || cost.works != n || !r.known["0"] {
		t.Errorf("a start cost %+v, want two passes", cost)
	}
	r.says = func(int) *contribution {
		now := sets(younger, targets...)
		now.Parts[name("more")] = &Part{}
		return now
	}
	r.add(parentKey("0"))
	if cost := r.run(); cost.passes != 2 || cost.works != 1 || !r.known["0"] {
		t.Errorf("one more target cost %+v, want one work on it", cost)
	}
	// Two that it waits for, of which one goes: it is told of the other.
	r.says = func(int) *contribution { return sets(younger, "a", "b") }
	r.pass(parentKey("0"))
	r.says = func(int) *contribution { return sets(younger, "b") }
	r.pass(parentKey("0"))
	r.run()
	if !r.known["0"] {
		t.Error("the parent waits for a target that it has no part in any more")
	}
}

// BenchmarkStart measures what the account costs from the start of a rule until all
// parents know the problems of their contributions.
func BenchmarkStart(b *testing.B) {
	for _, n := range []int{1000, 2000, 4000, 8000} {
		for what, says := range map[string]func(int) *contribution{
			"own":    func(i int) *contribution { return sets(younger, fmt.Sprint("own-", i)) },
			"shared": func(int) *contribution { return sets(younger, "one") },
		} {
			b.Run(fmt.Sprint(what, "/", n), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					newRig(n, says).run()
				}
			})
		}
	}
}
