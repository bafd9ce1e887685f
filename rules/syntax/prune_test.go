package syntax

import "testing"

// A confirmation is no part of what it confirms.
func TestConfirmationMakesNoRevision(t *testing.T) {
	t.Parallel()
	const spec = "spec: {parent: {apiVersion: v1, kind: Pod}}\n"
	hash := func(metadata string) string {
		t.Helper()
		docs, findings := Decode("r.yaml", []byte("apiVersion: kanon.dev/v1alpha1\nkind: Rule\nmetadata: "+metadata+"\n"+spec))
		if len(docs.Rules) != 1 {
			t.Fatalf("%s: %v", metadata, findings)
		}
		return docs.Rules[0].Hash()
	}
	for name, same := range map[string][2]string{
		"alone":         {"{name: r}", "{name: r, annotations: {kanon.dev/confirm-prune: x}}"},
		"both":          {"{name: r}", "{name: r, annotations: {kanon.dev/confirm-definition: y, kanon.dev/confirm-prune: x}}"},
		"beside others": {"{name: r, annotations: {a: b}}", "{name: r, annotations: {kanon.dev/confirm-prune: x, a: b}}"},
	} {
		if hash(same[0]) != hash(same[1]) {
			t.Errorf("%s: the annotation makes a new revision", name)
		}
	}
	if hash("{name: r}") == hash("{name: r, annotations: {a: b}}") {
		t.Error("another annotation makes no new revision")
	}
	docs, _ := Decode("r.yaml", []byte("apiVersion: kanon.dev/v1alpha1\nkind: Rule\nmetadata: {name: r, annotations: {kanon.dev/confirm-prune: 'a, b,c', kanon.dev/confirm-definition: d}}\n"+spec))
	if got := docs.Rules[0].Confirmed(); len(got) != 3 || got[0] != "a" || got[2] != "c" {
		t.Errorf("it confirms %q", got)
	}
	if got := docs.Rules[0].ConfirmedDefinitions(); len(got) != 1 || got[0] != "d" {
		t.Errorf("it confirms the definitions %q", got)
	}
}
