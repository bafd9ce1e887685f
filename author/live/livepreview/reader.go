package livepreview

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kanon.dev/kanon/author/memory"
	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/engine/identity"
	"kanon.dev/kanon/engine/record"
	"kanon.dev/kanon/rules/program"
)

// reader reads the objects that one parent needs, each once. It implements memory.Backing and, for spec.parent.when,
// program.Reader.
type reader struct {
	*Previewer
	ctx context.Context //nolint:containedctx // the engine reads in the middle of an evaluation, which takes no context
	// home is the parent's namespace.
	home string
	// objects are those that were read, and asked those that were requested, whether they exist or not.
	objects map[identity.ID]*unstructured.Unstructured
	asked   map[string]bool
	queries map[string][]*unstructured.Unstructured
	// err is the last error of a request for one object.
	err error
}

func newReader(ctx context.Context, p *Previewer, home string) *reader {
	return &reader{
		Previewer: p, ctx: ctx, home: home, objects: map[identity.ID]*unstructured.Unstructured{},
		asked: map[string]bool{}, queries: map[string][]*unstructured.Unstructured{},
	}
}

// Record reads the rule's record. It is empty if the rule does not run, or if the user may not read it.
func (p *Previewer) Record(ctx context.Context) (record.Record, error) {
	stored, err := p.options.Client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}).
		Namespace(p.options.Namespace).Get(ctx, record.NamePrefix+p.ruleID, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err), apierrors.IsForbidden(err):
		return record.Record{}, nil
	case err != nil:
		return record.Record{}, fmt.Errorf("read the rule's record: %w", err)
	}
	text, _, _ := unstructured.NestedString(stored.Object, "data", "record")
	var stated record.Record
	if err := json.Unmarshal([]byte(text), &stated); err != nil {
		return record.Record{}, nil //nolint:nilerr // a record that Kanon did not write is ignored
	}
	return stated, nil
}

// Get implements memory.Backing.
func (r *reader) Get(gvr schema.GroupVersionResource, namespace, name string) (*unstructured.Unstructured, error) {
	key := gvr.GroupResource().String() + "\n" + namespace + "\n" + name
	if r.asked[key] {
		for id, object := range r.objects {
			if kind, _ := r.kinds.Mapper.Lookup(object.GroupVersionKind()); kind.GVR.GroupResource() == gvr.GroupResource() && id.Namespace == namespace && id.Name == name {
				return object, nil
			}
		}
		return nil, nil
	}
	r.asked[key] = true
	object, err := r.options.Client.Resource(gvr).Namespace(namespace).Get(r.ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		r.err = fmt.Errorf("get %s %s: %w", gvr.GroupResource(), strings.TrimPrefix(namespace+"/"+name, "/"), err)
		return nil, r.err
	}
	r.objects[identity.Of(object)] = object
	return object, nil
}

// Try implements memory.Trier.
func (r *reader) Try(ctx context.Context, a memory.Attempt) (*unstructured.Unstructured, error) {
	if r.options.Try == nil {
		return nil, nil
	}
	return r.options.Try(ctx, a, r.objects[identity.Of(a.Object)])
}

// List implements memory.Backing. Without the right to list children in all namespaces, it reads only the parent's
// namespace: most children are there.
func (r *reader) List(gvr schema.GroupVersionResource, namespace string, selector labels.Selector) ([]*unstructured.Unstructured, error) {
	text := selector.String()
	ofChildren := text == mark.LabelRule
	if ofChildren {
		text += "=" + r.ruleID
	}
	key := fmt.Sprintf("%s\n%s\n%s", gvr, namespace, text)
	if found, ok := r.queries[key]; ok {
		return found, nil
	}
	resource, options := r.options.Client.Resource(gvr), metav1.ListOptions{LabelSelector: text}
	list, err := resource.Namespace(namespace).List(r.ctx, options)
	if ofChildren && namespace == "" && r.home != "" && apierrors.IsForbidden(err) {
		list, err = resource.Namespace(r.home).List(r.ctx, options)
	}
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", gvr.GroupResource(), err)
	}
	found := make([]*unstructured.Unstructured, len(list.Items))
	for i := range list.Items {
		object := &list.Items[i]
		id := identity.Of(object)
		if known := r.objects[id]; known != nil {
			object = known
		}
		found[i], r.objects[id] = object, object
		r.asked[gvr.GroupResource().String()+"\n"+id.Namespace+"\n"+id.Name] = true
	}
	r.queries[key] = found
	return found, nil
}

// children reads the children of some kinds, as far as the engine has not.
func (r *reader) children(kinds []schema.GroupVersionKind) error {
	selector, err := labels.Parse(mark.LabelRule)
	for _, gvk := range kinds {
		if kind, ok := r.kinds.Mapper.Lookup(gvk); ok && err == nil {
			_, err = r.List(kind.GVR, "", selector)
		}
	}
	return err
}

// owned returns the objects among those that were read that the rule created for the parent.
func (r *reader) owned(parent *unstructured.Unstructured) map[identity.ID]*unstructured.Unstructured {
	all := map[identity.ID]*unstructured.Unstructured{}
	for id, object := range r.objects {
		owner, ok := mark.ReadOwner(object)
		isOwned := ok && owner.Parent.UID == parent.GetUID() || metav1.IsControlledBy(object, parent)
		if object.GetLabels()[mark.LabelRule] == r.ruleID && isOwned {
			all[id] = object
		}
	}
	return all
}

// Lookup implements program.Reader.
func (r *reader) Lookup(q program.Query) ([]*unstructured.Unstructured, error) {
	kind, ok := r.kinds.Mapper.Lookup(q.GVK)
	if !ok {
		return nil, nil // the kind does not exist
	}
	if q.Name != "" {
		object, err := r.Get(kind.GVR, q.Namespace, q.Name)
		if object == nil {
			return nil, err
		}
		return []*unstructured.Unstructured{object}, err
	}
	namespace := q.Namespace
	if q.AllNamespaces {
		namespace = ""
	}
	selector := q.Selector
	if selector == nil {
		selector = labels.Everything()
	}
	return r.List(kind.GVR, namespace, selector)
}

// Observed implements program.Reader.
func (*reader) Observed(string) ([]*unstructured.Unstructured, error) { return nil, nil }

// Live implements program.Reader.
func (*reader) Live(*unstructured.Unstructured) (*unstructured.Unstructured, error) { return nil, nil }

// Replaced implements program.Reader.
func (*reader) Replaced(*unstructured.Unstructured) *unstructured.Unstructured { return nil }

// Outdated implements program.Reader.
func (*reader) Outdated(string, *unstructured.Unstructured, *unstructured.Unstructured) bool {
	return false
}
