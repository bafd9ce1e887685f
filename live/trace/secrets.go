package trace

import (
	"context"
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/live/livepreview"
	"kanon.dev/kanon/redact"
	"kanon.dev/kanon/redact/clustersecrets"
)

// secrets are values that a tree must not show: a condition or an Event may quote one.
type secrets struct {
	values redact.Values
	// isUnsure is true if it is not known which Secrets some rule of the tree reads.
	isUnsure bool
}

// see adds the values of an object of the tree, if it is a Secret.
func (s *secrets) see(object *unstructured.Unstructured) { s.values.Note(object) }

// learn adds the values of the Secrets that a rule has to do with; p is nil if these are not known.
func (s *secrets) learn(p *livepreview.Preview) {
	if p == nil {
		s.isUnsure = true
		return
	}
	maps.Copy(s.values, p.Secrets)
}

// hide removes the values from the texts of a tree.
func (w *walk) hide(ctx context.Context, root *Node) {
	if w.secrets.isUnsure {
		all, _ := clustersecrets.Values(ctx, w.options.Client, root.Namespace) // as far as they may be read
		maps.Copy(w.secrets.values, all)
	}
	masked := w.secrets.values.Masker()
	for _, n := range root.All() {
		n.Selector = masked(n.Selector)
		for i := range n.Notes {
			n.Notes[i].Text = masked(n.Notes[i].Text)
		}
	}
}
