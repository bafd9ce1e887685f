package eventlog

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kanon.dev/kanon/engine/identity"
	"kanon.dev/kanon/engine/record"
	"kanon.dev/kanon/live/installed"
)

// About selects the Events of one rule: those about its origin, its record and its parents.
type About struct {
	reader *installed.Reader
	rule   *installed.Rule
	// known caches whether an object is the rule's.
	known map[identity.ID]bool
}

// NewAbout makes an About. namespace is Kanon's.
func NewAbout(reader *installed.Reader, rule *installed.Rule, namespace string) *About {
	a := &About{reader: reader, rule: rule, known: make(map[identity.ID]bool)}
	stored := identity.ID{GroupKind: schema.GroupKind{Kind: "ConfigMap"}}
	stored.Namespace, stored.Name = namespace, record.NamePrefix+rule.ID
	a.known[stored] = true
	if rule.Object != nil {
		a.known[identity.Of(rule.Object)] = true
	}
	return a
}

// Matches reports whether an Event is about the rule. A deleted parent counts as one of the rule's.
func (a *About) Matches(ctx context.Context, e Event) (bool, error) {
	if e.Rule != "" {
		return e.Rule == a.rule.Name.String(), nil
	}
	is, ok := a.known[e.Object]
	gvk := a.rule.ParentKind()
	if ok || e.Object.GroupKind != gvk.GroupKind() {
		return is, nil
	}
	resource, err := a.reader.Resource(gvk, e.Object.Namespace)
	if err != nil {
		return true, nil //nolint:nilerr // the kind was deleted, with the objects of these Events
	}
	object, err := resource.Get(ctx, e.Object.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		is = true
	case err != nil:
		return false, fmt.Errorf("get %s: %w", e.Object, err)
	default:
		is = a.reader.Selects(ctx, a.rule, object)
	}
	a.known[e.Object] = is
	return is, nil
}
