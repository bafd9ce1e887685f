package preview

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"kanon.dev/kanon/author/redact"
	"kanon.dev/kanon/rules/program"
)

// Write prints the preview as YAML documents: the children in the order of the rule, then the patches, and the parent
// with its status. Comments say what is skipped, waits or failed and why, and what else happens. Values of Secrets are
// hidden.
func (p *Preview) Write(w io.Writer) error {
	out := &writer{secrets: p.Secrets}
	out.comment("rule %s for %s %s", p.Rule, p.Parent.GetKind(), nameOf(p.Parent))
	if p.Unmatched != "" {
		out.comment("nothing is created: %s", p.Unmatched)
	}
	for _, node := range p.Nodes {
		out.node(node)
	}
	for _, patch := range p.Result.Patches {
		out.patch(patch)
	}
	out.status(p)
	out.later(p.Result)
	if out.err != nil {
		return out.err
	}
	if _, err := io.WriteString(w, out.text.String()); err != nil {
		return fmt.Errorf("write the preview: %w", err)
	}
	return nil
}

// writer collects documents, with comments before them.
type writer struct {
	text    strings.Builder
	secrets redact.Values
	// open is true after a document that has no separator yet.
	open bool
	err  error
}

func (w *writer) comment(format string, args ...any) {
	w.end()
	for line := range strings.Lines(w.secrets.Text(fmt.Sprintf(format, args...))) {
		w.text.WriteString("# " + redact.Printable(strings.TrimSuffix(line, "\n")) + "\n")
	}
}

// end separates the last document from what follows.
func (w *writer) end() {
	if w.open {
		w.text.WriteString("---\n")
		w.open = false
	}
}

func (w *writer) document(object map[string]any) {
	text, err := yaml.Marshal(w.secrets.Object(object))
	if err != nil {
		w.err = fmt.Errorf("write an object as YAML: %w", err)
		return
	}
	w.end()
	w.text.Write(text)
	w.open = true
}

func (w *writer) node(n Node) {
	where := ""
	if n.Path != "" {
		where = n.Path + ": "
	}
	switch n.State {
	case program.StateSkipped:
		switch {
		case len(n.Kept) > 0:
		case n.Path != "": // of the field that keeps it from being created
			w.comment("child %s %s", n.ID, n.Message)
		default:
			w.comment("child %s is skipped: %s", n.ID, cmp.Or(n.Message, "its when is false"))
		}
	case program.StateWaiting:
		w.comment("child %s waits: %s%s", n.ID, where, n.Text())
	case program.StateFailed:
		w.comment("child %s fails: %s%s", n.ID, where, n.Text())
	case program.StateApplied, program.StateNotApplied:
		switch {
		case len(n.Objects) == 0 && len(n.Kept) > 0 && n.Ready:
		case len(n.Objects) == 0 && len(n.Kept) == 0 && len(n.Refused) == 0:
			w.comment("child %s has no items", n.ID)
		case n.Ready:
			w.comment("child %s", n.ID)
		default:
			w.comment("child %s, not ready: %s%s", n.ID, where, n.Text())
		}
	}
	for _, object := range slices.Concat(n.Kept, n.Objects) {
		if object.Why != "" {
			w.comment("child %s: %s %s %s", n.ID, object.GetKind(), nameOf(object.Unstructured), object.Why)
		}
	}
	for _, refused := range n.Refused {
		w.comment("child %s: %s", n.ID, refused.Err)
	}
	for _, object := range n.Objects {
		if when := object.whenItStays(); when != "" {
			w.comment("child %s: %s %s stays %s", n.ID, object.GetKind(), nameOf(object.Unstructured), when)
		}
		w.document(hideSecrets(object.Written).Object)
	}
}

// status writes the parent with its status and conditions, as far as the rule renders them.
func (w *writer) status(p *Preview) {
	out := p.Result
	for _, waiting := range out.StatusWaiting {
		w.comment("waits: %s", waiting)
	}
	for _, failed := range out.StatusFailed {
		w.comment("fails: %s: %s", failed.Path, failed.Text())
	}
	if p.StatusRefused != nil {
		w.comment("fails: status: %s", p.StatusRefused)
		return
	}
	status := maps.Clone(out.Status)
	if conditions := conditionsOf(out); len(conditions) > 0 {
		if status == nil {
			status = map[string]any{}
		}
		said, _ := status["conditions"].([]any)
		status["conditions"] = slices.Concat(said, conditions)
	}
	if len(status) == 0 {
		return
	}
	metadata := map[string]any{"name": p.Parent.GetName()}
	if namespace := p.Parent.GetNamespace(); namespace != "" {
		metadata["namespace"] = namespace
	}
	w.comment("status of the parent")
	w.document(map[string]any{
		"apiVersion": p.Parent.GetAPIVersion(), "kind": p.Parent.GetKind(), "metadata": metadata, "status": status,
	})
}

// conditionsOf lists the rule's conditions whose values are known.
func conditionsOf(out program.Result) []any {
	var list []any
	for _, c := range out.Conditions {
		if !c.Keep {
			list = append(list, map[string]any{"type": c.Type, "status": c.Status, "reason": c.Reason, "message": c.Message})
		}
	}
	return list
}

// later writes what happens besides writes: Events, deletion and requeues.
func (w *writer) later(out program.Result) {
	for _, e := range out.Events {
		if e.State == program.EventOn {
			w.comment("event %s %s: %s", e.Type, e.Reason, e.Message)
		}
	}
	if out.Deletion == program.DeletionOn {
		w.comment("the parent is deleted: deleteWhen is true")
	}
	if out.RequeueAfter > 0 {
		w.comment("evaluated again after %s", out.RequeueAfter)
	}
	if !out.ReevaluateAt.IsZero() {
		w.comment("evaluated again at %s", out.ReevaluateAt.Format(time.RFC3339))
	}
}

func nameOf(u *unstructured.Unstructured) string {
	return strings.TrimPrefix(u.GetNamespace()+"/"+u.GetName(), "/")
}
