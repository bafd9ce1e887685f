package installed

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"kanon.dev/kanon/engine/apply/fieldset"
	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/engine/conditions"
	"kanon.dev/kanon/engine/identity"
	"kanon.dev/kanon/engine/request"
	"kanon.dev/kanon/rules"
	"kanon.dev/kanon/rules/readiness"
	"kanon.dev/kanon/rules/syntax"
)

// Kinds knows the kinds of a cluster. *manifests.Kinds implements it.
type Kinds interface {
	Resource(gvk schema.GroupVersionKind) (gvr schema.GroupVersionResource, ok bool)
	Lookup(gvk schema.GroupVersionKind) (rules.Kind, bool)
}

// Reader reads the objects of rules.
type Reader struct {
	Client dynamic.Interface
	Kinds  Kinds
}

// Query restricts which objects are read.
type Query struct {
	// Namespace is empty for all namespaces.
	Namespace string
	// Selector is nil for all objects.
	Selector labels.Selector
}

// Parent is a parent of a rule.
type Parent struct {
	Object *unstructured.Unstructured
	// Ready is the status of the condition Ready that Kanon set for the rule: True, False or Unknown. It is empty if
	// there is none: Kanon sets none on Kubernetes' own kinds, and none if spec.parent.when is false.
	Ready           string
	Reason, Message string
	// Suspended is true if an annotation suspends the parent.
	Suspended bool
}

// Child is an object that a rule created.
type Child struct {
	Object *unstructured.Unstructured
	// Owner is the parent, and the node of the rule, that the object was created for.
	Owner mark.Owner
	// Ready is True, False or Unknown by the object's kind, unless Judge overrides it. Status is the object's kstatus.
	Ready           string
	Status, Message string
}

// NoKind is the error for a kind that the cluster does not have.
func NoKind(gvk schema.GroupVersionKind) error {
	return fmt.Errorf("the cluster has no kind %s in %s: apply its CustomResourceDefinition; 'kubectl api-resources' lists the kinds that it has", gvk.Kind, gvk.GroupVersion())
}

// Resource returns the client for a kind in a namespace. The error reports that the cluster does not have the kind.
func (r *Reader) Resource(gvk schema.GroupVersionKind, namespace string) (dynamic.ResourceInterface, error) {
	gvr, ok := r.Kinds.Resource(gvk)
	if !ok {
		return nil, NoKind(gvk)
	}
	if kind, _ := r.Kinds.Lookup(gvk); !kind.Namespaced || namespace == "" {
		return r.Client.Resource(gvr), nil
	}
	return r.Client.Resource(gvr).Namespace(namespace), nil
}

// Parents reads the parents of a rule: the objects that match spec.parent, apart from when. For a rule in a file they
// are the objects that it wrote to.
func (r *Reader) Parents(ctx context.Context, rule *Rule, q Query) ([]Parent, error) {
	resource, err := r.Resource(rule.ParentKind(), q.Namespace)
	if err != nil {
		return nil, err
	}
	list, err := resource.List(ctx, rule.parentOptions(q))
	if err != nil {
		return nil, fmt.Errorf("list the parents of rule %s: %w", rule.Name, err)
	}
	written, err := r.WrittenTo(ctx, rule, q)
	if err != nil {
		return nil, err
	}
	namespaces := NamespaceLabels(ctx, r.Client)
	var parents []Parent
	for i := range list.Items {
		object := &list.Items[i]
		if rule.Decoded != nil && rule.Decoded.MaySelect(object, namespaces) || rule.Decoded == nil && written(object) {
			parents = append(parents, rule.ParentOf(object))
		}
	}
	slices.SortFunc(parents, func(a, b Parent) int { return compareObjects(a.Object, b.Object) })
	return parents, nil
}

// parentOptions selects parents by the labels of the query and of the rule.
func (rule *Rule) parentOptions(q Query) metav1.ListOptions {
	selector := q.Selector
	if selector == nil {
		selector = labels.Everything()
	}
	if rule.Decoded != nil && rule.Decoded.Parent.Selector != nil {
		requirements, _ := rule.Decoded.Parent.Selector.Requirements()
		selector = selector.Add(requirements...)
	}
	return metav1.ListOptions{LabelSelector: selector.String()}
}

// WrittenTo returns a function that reports whether a rule without a text wrote to an object, or created children for
// it: such objects are its parents. The function is nil for a rule with a text.
func (r *Reader) WrittenTo(ctx context.Context, rule *Rule, q Query) (func(*unstructured.Unstructured) bool, error) {
	if rule.Decoded != nil {
		return nil, nil
	}
	children, err := r.Children(ctx, rule, Query{Namespace: q.Namespace})
	if err != nil {
		return nil, err
	}
	return func(object *unstructured.Unstructured) bool {
		return rule.wroteTo(object) ||
			slices.ContainsFunc(children, func(child Child) bool { return child.Owner.Parent.UID == object.GetUID() })
	}, nil
}

// wroteTo reports whether an object has a field manager of the rule.
func (rule *Rule) wroteTo(object *unstructured.Unstructured) bool {
	return len(object.GetManagedFields()) > 0 && fieldset.IsManaged(object, rule.ID)
}

// Selects reports whether a rule selects an object of the parents' kind, as Parents does. A rule in a file counts as
// selecting the objects that it wrote to.
func (r *Reader) Selects(ctx context.Context, rule *Rule, object *unstructured.Unstructured) bool {
	if rule.Decoded == nil {
		return rule.wroteTo(object)
	}
	return rule.Decoded.MaySelect(object, NamespaceLabels(ctx, r.Client))
}

// ParentOf returns an object as a parent, with what Kanon reports on it.
func (rule *Rule) ParentOf(object *unstructured.Unstructured) Parent {
	parent := Parent{Object: object, Suspended: request.IsSuspended(object)}
	if condition := conditions.Find(object, rule.conditionPrefix()+conditions.Ready); condition != nil && fieldset.IsManaged(object, rule.ID) {
		parent.Ready, _ = condition["status"].(string)
		parent.Reason, _ = condition["reason"].(string)
		parent.Message, _ = condition["message"].(string)
	}
	if parent.Suspended {
		parent.Reason = string(Suspended)
	}
	return parent
}

func (rule *Rule) conditionPrefix() string {
	switch {
	case rule.Decoded != nil:
		return rule.Decoded.ConditionPrefix
	case rule.Record != nil:
		return rule.Record.ConditionPrefix
	default:
		return ""
	}
}

// Children reads the objects that a rule created, by their marks. It leaves out kinds that the cluster does not have.
func (r *Reader) Children(ctx context.Context, rule *Rule, q Query) ([]Child, error) {
	var children []Child
	for _, gvk := range rule.childKinds() {
		resource, err := r.Resource(gvk, q.Namespace)
		if err != nil {
			continue
		}
		list, err := resource.List(ctx, rule.childOptions(q))
		switch {
		case apierrors.IsNotFound(err):
			continue // the kind was just removed
		case err != nil:
			return nil, fmt.Errorf("list the children of rule %s: %w", rule.Name, err)
		}
		for i := range list.Items {
			child, ok := rule.ChildOf(&list.Items[i])
			again := slices.ContainsFunc(children, func(c Child) bool { return c.Object.GetUID() == child.Object.GetUID() }) // listed in another version
			if ok && !again {
				children = append(children, child)
			}
		}
	}
	slices.SortFunc(children, func(a, b Child) int {
		p, q := a.Owner.Parent, b.Owner.Parent
		return cmp.Or(cmp.Compare(p.Namespace, q.Namespace), cmp.Compare(p.Name, q.Name),
			cmp.Compare(a.Owner.Node, b.Owner.Node), compareObjects(a.Object, b.Object))
	})
	return children, nil
}

// childOptions selects the children that a query is about. Objects that copied the label are selected too.
func (rule *Rule) childOptions(q Query) metav1.ListOptions {
	selector := labels.SelectorFromSet(labels.Set{mark.LabelRule: rule.ID})
	if q.Selector != nil {
		requirements, _ := q.Selector.Requirements()
		selector = selector.Add(requirements...)
	}
	return metav1.ListOptions{LabelSelector: selector.String()}
}

// childKinds returns the kinds of children that the rule has or had.
func (rule *Rule) childKinds() []schema.GroupVersionKind {
	var kinds []schema.GroupVersionKind
	if rule.Decoded != nil {
		for i := range rule.Decoded.Children {
			if template := rule.Decoded.Children[i].Template; template != nil {
				kinds = append(kinds, syntax.TemplateGVK(template))
			}
		}
	}
	if rule.Record != nil {
		for _, kind := range rule.Record.Children {
			kinds = append(kinds, kind.GVK())
		}
	}
	slices.SortFunc(kinds, func(a, b schema.GroupVersionKind) int { return cmp.Compare(a.String(), b.String()) })
	return slices.DeleteFunc(slices.Compact(kinds), schema.GroupVersionKind.Empty)
}

// childOf returns an object as a child, with its kstatus.
func childOf(object *unstructured.Unstructured) Child {
	owner, _ := mark.ReadOwner(object)
	child := Child{Object: object, Owner: owner, Ready: "False"}
	result, err := readiness.Of(object, false)
	switch {
	case err != nil:
		child.Ready, child.Status, child.Message = "Unknown", string(status.UnknownStatus), err.Error()
	case object.GetDeletionTimestamp() != nil:
		child.Status, child.Message = string(status.TerminatingStatus), "it is being deleted"
	default:
		child.Status, child.Message = string(result.Status), result.Message
	}
	if child.Status == string(status.CurrentStatus) {
		child.Ready, child.Message = "True", ""
	}
	return child
}

// ReasonUnmatched is the reason of a parent whose spec.parent.when is false.
const ReasonUnmatched = "WhenFalse"

// Unmatch records that spec.parent.when is false, so the rule does nothing for the parent. A parent that is not ready
// stays so: its children are still to be cleaned up.
func (p *Parent) Unmatch() {
	if p.Ready == string(metav1.ConditionFalse) || p.Ready == string(metav1.ConditionUnknown) {
		return
	}
	p.Ready, p.Reason, p.Message = "", ReasonUnmatched, "spec.parent.when is false"
}

// Judge sets whether the child is ready by the rule's readyWhen. why is the reason if it is not; empty if it is.
func (c *Child) Judge(why string) {
	c.Ready, c.Message = "True", ""
	if why != "" {
		c.Ready, c.Message = "False", why
	}
}

// compareObjects orders objects by kind, namespace and name.
func compareObjects(a, b *unstructured.Unstructured) int {
	return cmp.Compare(identity.Of(a).String(), identity.Of(b).String())
}

// Count fills in ParentCount and ChildCount if Kanon does not report them and the user may list the objects.
func (r *Reader) Count(ctx context.Context, rule *Rule) error {
	if rule.ParentCount >= 0 && rule.ChildCount >= 0 {
		return nil
	}
	children, err := r.Children(ctx, rule, Query{})
	switch {
	case err == nil:
		rule.ChildCount = len(children)
	case !apierrors.IsForbidden(err):
		return err
	}
	if _, ok := r.Kinds.Resource(rule.ParentKind()); !ok {
		rule.ParentCount = 0
		return nil
	}
	parents, err := r.Parents(ctx, rule, Query{})
	switch {
	case err == nil:
		rule.ParentCount = len(parents)
	case !apierrors.IsForbidden(err):
		return err
	}
	return nil
}

// Created returns when the API server created an object.
func Created(object *unstructured.Unstructured) time.Time { return object.GetCreationTimestamp().Time }

// ShortName names an object as kubectl does: deployment.apps/web.
func ShortName(object *unstructured.Unstructured) string {
	return strings.ToLower(object.GroupVersionKind().GroupKind().String()) + "/" + object.GetName()
}

// NoneFound is the text for a kind without objects, or without objects that match a selector.
func NoneFound(kind, selector string) string {
	if selector != "" {
		return fmt.Sprintf("no %s has the labels %s", kind, selector)
	}
	return "there is no " + kind
}
