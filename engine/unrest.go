package engine

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/engine/conditions"
	"kanon.dev/kanon/engine/identity"
	"kanon.dev/kanon/engine/readers"
)

// maxUnrest is how many evaluations in a row may change one leaf of a status with
// nothing new but that status itself.
const maxUnrest = 5

// unrest notices a status that a rule computes from itself and that never comes
// to rest: each write of it would ask for the next one.
type unrest struct {
	// others is a digest of what the last evaluation saw of the parent and of
	// lookups, without the rule's own status, and children what it saw of its
	// children.
	others   [sha256.Size]byte
	children map[identity.ID]string
	// changes counts the evaluations that changed each leaf, since something else
	// changed last.
	changes map[string]int
	// quiet is true where the newest evaluation saw nothing new.
	quiet bool
}

func (u unrest) empty() bool { return u.children == nil && u.changes == nil }

// inputs collects what an evaluation sees, besides the parent.
type inputs struct {
	// lookups has the versions of what was looked up.
	lookups []string
	// children are the versions of children as they were found; what does not exist
	// has none.
	children map[identity.ID]string
}

func newInputs() *inputs { return &inputs{children: make(map[identity.ID]string)} }

// looked notes what a lookup found. The parent itself, of which the version changes
// with its status, is compared apart from that.
func (in *inputs) looked(s readers.Subject, found []*unstructured.Unstructured, err error, parent types.UID) {
	if in == nil {
		return
	}
	var text strings.Builder
	fmt.Fprintf(&text, "%v %v", s, err)
	versions := make([]string, len(found))
	for i, obj := range found {
		if versions[i] = versionOf(obj); obj.GetUID() == parent {
			versions[i] = "the parent"
		}
	}
	slices.Sort(versions)
	fmt.Fprintf(&text, "%q", versions)
	in.lookups = append(in.lookups, text.String())
}

// found notes a child as it is in memory before the pass writes to it.
func (in *inputs) found(id identity.ID, child *unstructured.Unstructured) {
	if in == nil {
		return
	}
	if _, noted := in.children[id]; !noted {
		in.children[id] = versionOf(child)
	}
}

// versionOf names the state of an object; empty for none.
func versionOf(obj *unstructured.Unstructured) string {
	if obj == nil {
		return ""
	}
	return string(obj.GetUID()) + " " + obj.GetResourceVersion()
}

// compare takes in what an evaluation saw, and forgets the changes so far where
// something is new besides the status. A child that the last evaluation has changed is
// new: the rule goes on because of that. Whether it ends is for progress to find out.
func (u *unrest) compare(in *inputs, others [sha256.Size]byte, due bool) {
	news := due || others != u.others
	for id, version := range in.children {
		last, known := u.children[id]
		news = news || (version != last && (known || version != ""))
	}
	u.others, u.children = others, in.children
	if news {
		u.changes = nil
	}
	u.quiet = !news
}

// restless names the leaves that have changed too often, were they to change now.
func (u *unrest) restless(changed []string) []string {
	if !u.quiet {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(changed), func(leaf string) bool { return u.changes[leaf]+1 < maxUnrest })
}

// wrote counts the leaves that a write has changed.
func (u *unrest) wrote(changed []string) {
	if !u.quiet {
		return
	}
	if u.changes == nil {
		u.changes = make(map[string]int, len(changed))
	}
	for _, leaf := range changed {
		u.changes[leaf]++
	}
}

// checkUnrest stops a status that is computed from itself and does not come to
// rest: what it said last is kept, and the parent is stalled.
func (p *pass) checkUnrest(ctx context.Context) error {
	if p.inputs == nil || p.outcome.StatusHeld {
		return nil
	}
	others, err := p.othersDigest(ctx)
	if err != nil {
		return err
	}
	p.memory.unrest.compare(p.inputs, others, p.due)
	p.changed = p.changedStatus()
	for _, leaf := range p.memory.unrest.restless(p.changed) {
		p.problems = append(p.problems, conditions.Problem{
			Subject: leaf, Reason: conditions.ReasonRestless, Stalled: true,
			Err: fmt.Errorf("it changes in every evaluation with nothing else to cause that (%d in a row): "+
				"the rule computes it from the status that it writes", maxUnrest),
		})
		p.outcome.StatusHeld = true
	}
	if p.outcome.StatusHeld {
		for i := range p.outcome.Conditions {
			p.outcome.Conditions[i].Held = true
		}
	}
	return nil
}

// changedStatus names what the rule says otherwise than the parent does now.
func (p *pass) changedStatus() []string {
	changed := changedLeaves(nil, "status", p.outcome.Status, p.parent.Object["status"])
	for _, c := range p.outcome.Conditions {
		if c.Held {
			continue
		}
		now := conditions.Find(p.parent, c.Type)
		if now["status"] != c.Status || now["reason"] != c.Reason || now["message"] != c.Message {
			changed = append(changed, "condition "+c.Type)
		}
	}
	return changed
}

// othersDigest is a digest of what the evaluation saw that is not the rule's own.
func (p *pass) othersDigest(ctx context.Context) (digest [sha256.Size]byte, err error) {
	status, err := p.writer.OthersStatus(ctx, p.status(nil))
	if err != nil {
		return digest, err
	}
	if shape, err := p.conditionsShape(ctx); err == nil && p.mergesConditions(shape, p.outcome.Status) {
		status = conditions.Without(status, p.op.program.ConditionPrefix(), p.op.program.ConditionTypes())
	}
	slices.Sort(p.inputs.lookups)
	data, err := json.Marshal([]any{withoutEcho(p.parent), status, p.inputs.lookups})
	if err != nil {
		return digest, fmt.Errorf("digest %s: %w", p.parent.GetName(), err)
	}
	return sha256.Sum256(data), nil
}

// changedLeaves names the fields of wanted that the object has with another value
// or not at all. A list is one leaf.
func changedLeaves(found []string, path string, wanted, have any) []string {
	fields, isMap := wanted.(map[string]any)
	if !isMap {
		if sameJSON(wanted, have) {
			return found
		}
		return append(found, path)
	}
	others, _ := have.(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		found = changedLeaves(found, path+"."+name, fields[name], others[name])
	}
	return found
}

// sameJSON tells whether two values are one in JSON, such as 1 and 1.0.
func sameJSON(a, b any) bool {
	if reflect.DeepEqual(a, b) {
		return true
	}
	left, err := json.Marshal(a)
	if err != nil {
		return false
	}
	right, err := json.Marshal(b)
	return err == nil && bytes.Equal(left, right)
}
