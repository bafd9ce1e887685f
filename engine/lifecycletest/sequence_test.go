package lifecycletest_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

const mergePatch = types.MergePatchType

// foreignFinalizer is what operations put on children.
const foreignFinalizer = "test.example.com/hold"

// sequence is one random life: its operations, its model, and how it went.
type sequence struct {
	names

	lane     *lane
	number   int
	model    *model
	plan     [][]step
	versions int
	born     int
	// fences counts the texts that told what the engine has seen; ruled is true once a
	// rule was written since.
	fences  int
	ruled   bool
	writes  *writes
	changed chan struct{}
	// busy is true once an operation was done since the last rest.
	busy bool
	// story is what was done, for a report; failure is what went wrong.
	story   []string
	failure string
}

// step is one operation: its number in the sequence, and the seed of all that is
// random in it, so that steps can be left out without changing the others.
type step struct {
	number int
	do     operation
	seed   uint64
}

// newSequence draws a sequence's plan.
func newSequence(l *lane, seed uint64, number, place, rounds int) *sequence {
	n := names{group: l.group, kanon: l.kanon, prefix: fmt.Sprintf("s%d-", number), home: l.homes[place], away: l.aways[place]}
	s := &sequence{names: n, lane: l, number: number, model: newModel(n), writes: newWrites(), plan: make([][]step, rounds)}
	random := rand.New(rand.NewPCG(seed, uint64(number)))
	count := 6 + random.IntN(10)
	for i := range count + len(beginning) {
		st := step{number: i, seed: random.Uint64()}
		round := random.IntN(rounds)
		st.do = pick(operations, random)
		if i < len(beginning) {
			st.do, round = beginning[i], 0
		}
		if !slices.Contains(*skipped, i) {
			s.plan[round] = append(s.plan[round], st)
		}
	}
	return s
}

func pick(weighted []weightedOperation, random *rand.Rand) operation {
	sum := 0
	for _, w := range weighted {
		sum += w.weight
	}
	n := random.IntN(sum)
	for _, w := range weighted {
		if n < w.weight {
			return w.do
		}
		n -= w.weight
	}
	return nil
}

// fail ends the sequence's life with what went wrong, and tells what the engine
// deleted.
func (s *sequence) fail(text string) {
	s.failure += text + "\n"
	for _, request := range s.lane.writes.about(s.names) {
		if strings.HasPrefix(request.text, "DELETE") {
			s.story = append(s.story, request.at.Format(clock)+request.text)
		}
	}
	s.story = append(s.story, s.lane.circumstances(s)...)
	slices.SortStableFunc(s.story, func(a, b string) int { return cmp.Compare(a[:len(clock)], b[:len(clock)]) })
}

// clock is how times are written.
const clock = "15:04:05.000 "

func (s *sequence) note(format string, values ...any) {
	s.story = append(s.story, time.Now().Format(clock)+fmt.Sprintf(format, values...))
}

// perform does the operations of one round, without waiting for anything.
func (s *sequence) perform(round int) {
	for _, st := range s.plan[round] {
		random := rand.New(rand.NewPCG(st.seed, st.seed))
		before := len(s.story)
		if err := st.do(s, random); err != nil {
			s.fail(fmt.Sprintf("operation %d: %v", st.number, err))
			return
		}
		if len(s.story) > before {
			s.story[len(s.story)-1] += fmt.Sprintf("   [%d]", st.number)
		}
		s.model.update()
		s.busy = true
	}
}

// rest waits until the cluster is as the model says, and remembers it.
func (s *sequence) rest(when string) {
	deadline := time.NewTimer(*patience)
	defer deadline.Stop()
	if err := s.fence(); err != nil {
		s.fail(err.Error())
		return
	}
	last := []string{"the watches did not catch up"}
	for {
		if objects, ok := s.lane.view(s.prefix, s.writes); ok {
			if last = s.model.judge(objects, s.lane.recordsOf(s.kanon)); slices.ContainsFunc(last, isHopeless) {
				s.fail("wrong " + when + ":\n  " + strings.Join(last, "\n  "))
				return
			}
			if !s.lane.isPast(s.fenceText()) {
				last = append(last, "the engine has not seen all rules")
			}
			if len(last) == 0 {
				s.model.remember(objects)
				s.busy = false
				s.note("-- at rest %s", when)
				return
			}
		}
		select {
		case <-s.changed:
		case <-deadline.C:
			s.note("-- never came to rest %s", when)
			writeStacks()
			s.fail("never came to rest " + when + ":\n  " + strings.Join(last, "\n  "))
			return
		}
	}
}

func isHopeless(diff string) bool { return strings.HasPrefix(diff, hopeless) }

// finish brings the inputs into a state in which nothing is in the way, and
// waits for what must follow.
func (s *sequence) finish() {
	steps := []func() error{
		func() error { return s.setLook("final") },
		func() error { return s.setProd(true) },
		s.unblockAll,
		s.removeStrangers,
		func() error { return s.makeTarget(nil) },
	}
	for _, name := range slices.Sorted(maps.Keys(s.model.parents)) {
		if p := s.model.parents[name]; p != nil && p.suspend {
			steps = append(steps, func() error { return s.changeParent(p.id.name, func(p *parent) { p.suspend = false }) })
		}
	}
	for _, slot := range slots {
		r := s.model.rules[slot]
		if r.text == nil {
			continue
		}
		steps = append(steps, func() error {
			text := *r.text
			text.suspend, text.version = false, s.newVersion()
			return s.writeRule(slot, &text, false)
		})
	}
	for _, do := range steps {
		if err := do(); err != nil {
			s.fail(err.Error())
			return
		}
		s.model.update()
	}
	s.rest("at the end")
}

// tearDown removes all parents and rules; nothing may be left then but what was
// left behind on purpose.
func (s *sequence) tearDown() {
	var parents, rules []func() error
	for name := range s.model.parents {
		if s.model.parents[name] != nil {
			parents = append(parents, func() error { return s.deleteParent(name, metav1.DeletePropagationBackground) })
		}
	}
	for _, slot := range slots {
		rules = append(rules, func() error { return s.removeRule(slot) })
	}
	if s.number%2 == 0 {
		parents, rules = rules, parents
	}
	for _, do := range append(parents, rules...) {
		if err := do(); err != nil {
			s.fail(err.Error())
			return
		}
		s.model.update()
	}
	s.rest("after everything was removed")
}

// ---- what operations are made of ----

// create makes an object; taken tells that there was one.
func (s *sequence) create(ctx context.Context, obj *unstructured.Unstructured) (made *unstructured.Unstructured, taken bool, err error) {
	made, err = s.lane.at(obj.GetKind(), obj.GetNamespace()).Create(ctx, obj, metav1.CreateOptions{FieldManager: "somebody"})
	if apierrors.IsAlreadyExists(err) {
		return nil, true, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("create %s %s: %w", obj.GetKind(), obj.GetName(), err)
	}
	s.writes.wrote(made)
	return made, false, nil
}

// patch merges into an object; nothing happens where there is none.
func (s *sequence) patch(id identity, change map[string]any) (answer *unstructured.Unstructured, err error) {
	body, err := json.Marshal(change)
	if err != nil {
		return nil, err
	}
	answer, err = s.lane.at(id.kind, id.namespace).Patch(s.lane.t.Context(), id.name, mergePatch, body, metav1.PatchOptions{FieldManager: "somebody"})
	if apierrors.IsNotFound(err) || apierrors.IsInvalid(err) { // as a change of what is immutable
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("patch %s: %w", id, err)
	}
	s.writes.wrote(answer)
	return answer, nil
}

// delete removes an object, if it is there.
func (s *sequence) delete(id identity, policy metav1.DeletionPropagation) error {
	ctx := s.lane.t.Context()
	live, err := s.lane.at(id.kind, id.namespace).Get(ctx, id.name, metav1.GetOptions{})
	if err == nil {
		err = s.lane.at(id.kind, id.namespace).Delete(ctx, id.name, metav1.DeleteOptions{PropagationPolicy: &policy})
	}
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("delete %s: %w", id, err)
	}
	s.writes.deleted[id] = live.GetUID()
	return nil
}

// object is a parent as it is written.
func (s *sequence) object(p *parent) map[string]any {
	labels := map[string]any{"seq": s.prefix + "x", "tier": nil}
	if p.tier {
		labels["tier"] = "web"
	}
	annotations := map[string]any{"kanon.dev/suspend": nil}
	if p.suspend {
		annotations["kanon.dev/suspend"] = "true"
	}
	items := make([]any, len(p.items))
	for i, item := range p.items {
		items[i] = item
	}
	return map[string]any{
		"apiVersion": s.group + "/v1", "kind": p.id.kind,
		"metadata": map[string]any{"name": p.id.name, "namespace": p.id.namespace, "labels": labels, "annotations": annotations},
		"spec":     map[string]any{"color": p.color, "items": items, "on": p.on, "show": p.show, "tick": int64(p.ticks)},
	}
}

func (s *sequence) createParent(p *parent) error {
	text := s.object(p)
	metadata, _ := text["metadata"].(map[string]any)
	for _, field := range []string{"labels", "annotations"} { // nulls are for patches
		entries, _ := metadata[field].(map[string]any)
		maps.DeleteFunc(entries, func(_ string, value any) bool { return value == nil })
	}
	_, taken, err := s.create(s.lane.t.Context(), &unstructured.Unstructured{Object: text})
	if err != nil || taken {
		return err
	}
	s.born++
	p.born = s.born
	s.note("create %+v", *p)
	s.model.parents[p.id.name], s.model.kinds[p.id.name] = p, p.id.kind
	return nil
}

func (s *sequence) changeParent(name string, change func(p *parent)) error {
	p := s.model.parents[name].clone()
	change(p)
	p.ticks++
	if _, err := s.patch(p.id, s.object(p)); err != nil {
		return err
	}
	s.note("change %+v", *p)
	s.model.parents[name] = p
	return nil
}

func (s *sequence) deleteParent(name string, policy metav1.DeletionPropagation) error {
	if err := s.delete(s.model.parents[name].id, policy); err != nil {
		return err
	}
	s.note("delete %s, %s", name, policy)
	born := s.model.parents[name].born
	s.model.parents[name] = nil
	s.model.foreground[name] = s.model.foreground[name] || policy == metav1.DeletePropagationForeground
	if policy == metav1.DeletePropagationOrphan {
		s.model.orphaned[name] = true
		for _, id := range s.model.childrenOf(name) {
			t := s.model.tracks[id]
			t.retained, t.lost, t.left = true, true, born
			// A write under way while the garbage collector takes the references can
			// put one back to the parent that is gone, and the child goes with it.
			t.steady = t.steady && !t.untied && !s.busy
		}
	}
	return nil
}

func (s *sequence) setLook(value string) error {
	id := s.lookup()
	s.model.look = value
	s.note("the lookup is %q", value)
	if value == "" {
		return s.delete(id, metav1.DeletePropagationBackground)
	}
	obj := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": configMap, "metadata": map[string]any{"name": id.name, "namespace": id.namespace},
		"data": map[string]any{"value": value},
	}}
	if _, taken, err := s.create(s.lane.t.Context(), obj); err != nil || !taken {
		return err
	}
	_, err := s.patch(id, map[string]any{"data": map[string]any{"value": value}})
	return err
}

func (s *sequence) setProd(prod bool) error {
	env := "test"
	if prod {
		env = "prod"
	}
	s.model.prod, s.model.moved = prod, true
	s.note("the namespace is %s", env)
	_, err := s.patch(identity{"Namespace", "", s.home}, map[string]any{
		"metadata": map[string]any{"labels": map[string]any{"env": env, "seq": s.prefix + "x"}},
	})
	delete(s.writes.versions, "Namespace") // not watched
	return err
}
