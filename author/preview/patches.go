package preview

import (
	"cmp"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/rules/program"
)

// patch writes what a patch sets: one document for each target, with the fields only.
func (w *writer) patch(p program.PatchResult) {
	where := ""
	if p.Path != "" {
		where = p.Path + ": "
	}
	switch p.State {
	case program.StateSkipped:
		w.comment("patch %s is skipped: %s", p.ID, cmp.Or(p.Message, "its when is false, or it has no items"))
	case program.StateWaiting:
		w.comment("patch %s waits: %s%s", p.ID, where, p.Message)
	case program.StateFailed, program.StateNotApplied:
		w.comment("patch %s fails: %s%s", p.ID, where, p.Text())
	case program.StateApplied:
	}
	for _, c := range p.Contributions {
		if c.Object == nil {
			continue
		}
		w.comment("patch %s of %s %s, if it exists", p.ID, c.Object.GetKind(), targetText(c.Target))
		w.document(hideSecrets(named(c)).Object)
	}
}

// named is the object of a contribution, with the name and namespace of its target if the target has a name.
func named(c program.Contribution) *unstructured.Unstructured {
	if c.Target.Name == "" {
		return c.Object
	}
	object := c.Object.DeepCopy()
	object.SetName(c.Target.Name)
	if c.Target.Namespace != "" {
		object.SetNamespace(c.Target.Namespace)
	}
	return object
}

// targetText describes the objects that a contribution is for.
func targetText(t program.Target) string {
	if t.Name != "" {
		return strings.TrimPrefix(t.Namespace+"/"+t.Name, "/")
	}
	text := "objects"
	if !t.Selector.Empty() {
		text = "objects with the labels " + t.Selector.String()
	}
	switch {
	case t.AllNamespaces:
		return text + " in all namespaces"
	case t.Namespace != "":
		return text + " in namespace " + t.Namespace
	}
	return text
}
