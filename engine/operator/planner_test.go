package operator

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"kanon.dev/kanon/engine/catalog"
	"kanon.dev/kanon/engine/queue"
	"kanon.dev/kanon/engine/record"
	"kanon.dev/kanon/engine/source"
	"kanon.dev/kanon/rules"
	"kanon.dev/kanon/rules/syntax"
)

// texts is a catalog without rules.
type texts struct{ complete, removed bool }

func (c texts) IsCompleteIn(string) bool { return c.complete }
func (c texts) Removed(string) bool      { return c.removed }
func (c texts) Refused(string) bool      { return false }

// oneRecord is the record of one rule.
type oneRecord struct {
	record.Record
	pending, meant, noKind bool
}

func (r oneRecord) IDs() []string                    { return []string{"id"} }
func (r oneRecord) Get(string) (record.Record, bool) { return r.Record, true }
func (r oneRecord) IsPending(string) bool            { return r.pending }
func (r oneRecord) IsRemovalMeant(string) bool       { return r.meant }
func (r oneRecord) Lookup(schema.GroupVersionKind) (rules.Kind, bool) {
	return rules.Kind{Namespaced: true, HasStatus: true}, !r.noKind
}

// A rule that is in no text counts as removed when that is certain, or when it was seen to be removed and nothing is deleted.
func TestRemovedRule(t *testing.T) {
	for name, test := range map[string]struct {
		texts   texts
		keeps   bool // the children
		covered bool // a source would find the text
		pending bool
		kept    bool // the namespace of the text does not exist as before
		want    bool
	}{
		"it was seen to be removed":               {texts: texts{true, true}, want: true},
		"it was removed while Kanon was away":     {texts: texts{true, false}, covered: true, want: true},
		"no source would find its text":           {texts: texts{true, false}},
		"a text may have it":                      {texts: texts{false, true}},
		"a text may have it, and nothing is lost": {texts: texts{false, true}, keeps: true, want: true},
		"nobody knows":                            {texts: texts{false, false}, keeps: true, covered: true},
		"its record is being written":             {texts: texts{true, true}, pending: true},
		"it disappeared with Kanon's namespace":   {texts: texts{true, true}, kept: true},
	} {
		t.Run(name, func(t *testing.T) {
			stored := oneRecord{Record: record.Record{Rule: "kanon/r", OnRuleDeletion: syntax.DeleteChildren}, pending: test.pending, meant: !test.kept}
			if test.keeps {
				stored.OnRuleDeletion = syntax.OrphanChildren
			}
			stored.AddParent(schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"})
			p := NewPlanner(stored, stored, func(source.Origin) bool { return test.covered })
			runs := p.Runs(test.texts, nil)
			if got := len(runs) == 1 && runs[0].Removal != nil; got != test.want {
				t.Fatalf("it is removed: %t, want %t", got, test.want)
			}
			if !test.want {
				return
			}
			if again := p.Runs(test.texts, nil); again[0].Removal != runs[0].Removal {
				t.Error("a removal that is under way begins again")
			}
			exists := []catalog.Rule{{Summary: catalog.Summary{ID: "id"}}}
			if runs := p.Runs(test.texts, exists); slices.ContainsFunc(runs, func(run Run) bool { return run.Removal != nil }) {
				t.Error("a rule that exists again is removed")
			}
		})
	}
}

// What keeps a rule that is in no text from being removed is known. A rule that no source reads now is not in doubt: it may exist.
func TestDoubts(t *testing.T) {
	for name, test := range map[string]struct {
		texts   texts
		covered bool
		noKind  bool
		want    string
	}{
		"a text may have it":            {texts: texts{false, true}, covered: true, want: "another text"},
		"no source would find its text": {texts: texts{true, false}},
		"its kind does not exist":       {texts: texts{true, true}, covered: true, noKind: true, want: "no kind ConfigMap in v1"},
		"it is removed":                 {texts: texts{true, true}, covered: true},
	} {
		t.Run(name, func(t *testing.T) {
			stored := oneRecord{meant: true, noKind: test.noKind, Record: record.Record{
				Rule: "kanon/r", OnRuleDeletion: syntax.DeleteChildren, Origin: record.Origin{Namespace: "team-a", ConfigMap: "rules"},
			}}
			stored.AddParent(schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"})
			p := NewPlanner(stored, stored, func(source.Origin) bool { return test.covered })
			runs := p.Runs(test.texts, nil)
			if got := p.Doubts()["id"]; test.want == "" && got != "" || !strings.Contains(got, test.want) {
				t.Errorf("the doubt is %q, want %q", got, test.want)
			}
			if removed := len(runs) == 1; removed && test.want != "" {
				t.Error("a rule that is in doubt is removed")
			}
		})
	}
}

// A rule that is passed over exists, and is not removed.
func TestRefusedRule(t *testing.T) {
	stored := oneRecord{meant: true, Record: record.Record{Rule: "team-a/r"}}
	stored.AddParent(schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"})
	p := NewPlanner(stored, stored, func(source.Origin) bool { return true })
	if runs := p.Runs(refusing{texts{true, true}}, nil); len(runs) > 0 || len(p.Doubts()) > 0 {
		t.Errorf("%v runs, in doubt are %v", runs, p.Doubts())
	}
}

// refusing is a catalog that passes over the rule.
type refusing struct{ texts }

func (refusing) Refused(string) bool { return true }

// A removal is done with the last of the parents that there were when it began.
func TestRemovalIsDone(t *testing.T) {
	a, b := queue.Key{Rule: "id", Patch: "a"}, queue.Key{Rule: "id", Patch: "b"}
	r := &Removal{}
	if r.Done(a) || r.IsDone() {
		t.Error("a removal is done that has not begun")
	}
	r.Begin(queue.Keys{a: true, b: true})
	if r.Done(a) {
		t.Error("it is done before the last parent")
	}
	if left := r.Begin(queue.Keys{a: true}); len(left) != 1 || !left[b] {
		t.Errorf("after an interruption %v are left, want b", left)
	}
	if !r.Done(b) || !r.IsDone() {
		t.Error("it is not done after the last parent")
	}
}
