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

// Kinds tells which kinds the cluster has. *manifests.Kinds implements it.
type Kinds interface {
	Resource(gvk schema.GroupVersionKind) (gvr schema.GroupVersionResource, ok bool)
	Lookup(gvk schema.GroupVersionKind) (rules.Kind, bool)
}

// Reader reads the objects of rules.
type Reader struct {
	Client dynamic.Interface
	Kinds  Kinds
}

// Query chooses objects.
type Query struct {
	// Namespace is empty for all.
	Namespace string
	// Selector is nil for all.
	Selector labels.Selector
}

// Parent is a parent of a rule.
type Parent struct {
	Object *unstructured.Unstructured
	// Ready is True, False or Unknown as in the condition Ready that Kanon set for the rule, and empty without one: Kanon sets none
	// on Kubernetes' own kinds, and none if spec.parent.when is false.
	Ready           string
	Reason, Message string
	// Suspended is true if the parent is annotated so.
	Suspended bool
}

// Child is an object that a rule created.
type Child struct {
	Object *unstructured.Unstructured
	// Owner says for whom it was created, by which node of the rule.
	Owner mark.Owner
	// Ready is True or False by the object's kind, unless Judge was told more, and Status how far it has come.
	Ready           string
	Status, Message string
}

// NoKind says that the cluster does not have a kind.
func NoKind(gvk schema.GroupVersionKind) error {
	return fmt.Errorf("the cluster has no kind %s in %s: apply its CustomResourceDefinition; 'kubectl api-resources' lists the kinds that it has", gvk.Kind, gvk.GroupVersion())
}

// Resource is for the objects of a kind in a namespace. The error says that the cluster does not have the kind.
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

// Parents reads the parents of a rule: those that it selects, by all of spec.parent but when, and of a rule in a file those that it
// wrote to.
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

// parentOptions choose the parents that a query is about, as far as labels do.
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

// WrittenTo says which objects a rule without a text wrote to, or created children for: those are its parents. It is nil for a rule
// with a text.
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

// wroteTo reports whether an object has a field manager of the rule. One without field managers tells nothing.
func (rule *Rule) wroteTo(object *unstructured.Unstructured) bool {
	return len(object.GetManagedFields()) > 0 && fieldset.IsManaged(object, rule.ID)
}

// Selects reports whether a rule has an object of its kind of parents as a parent, as Parents does. A rule in a file counts as
// having those that it wrote to.
func (r *Reader) Selects(ctx context.Context, rule *Rule, object *unstructured.Unstructured) bool {
	if rule.Decoded == nil {
		return rule.wroteTo(object)
	}
	return rule.Decoded.MaySelect(object, NamespaceLabels(ctx, r.Client))
}

// ParentOf is a parent with what Kanon reports on it.
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

// Children reads the objects that a rule created, as their marks say. Kinds that the cluster does not have are left out.
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
			continue // the kind was removed just now
		case err != nil:
			return nil, fmt.Errorf("list the children of rule %s: %w", rule.Name, err)
		}
		for i := range list.Items {
			child, ok := rule.ChildOf(&list.Items[i])
			again := slices.ContainsFunc(children, func(c Child) bool { return c.Object.GetUID() == child.Object.GetUID() }) // in another version
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

// childOptions choose the children that a query is about. Others may have copied the label.
func (rule *Rule) childOptions(q Query) metav1.ListOptions {
	selector := labels.SelectorFromSet(labels.Set{mark.LabelRule: rule.ID})
	if q.Selector != nil {
		requirements, _ := q.Selector.Requirements()
		selector = selector.Add(requirements...)
	}
	return metav1.ListOptions{LabelSelector: selector.String()}
}

// childKinds are the kinds of children that the rule has or had.
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

// childOf is a child with how far it has come.
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

// ReasonUnmatched is the reason of a parent for which spec.parent.when is false.
const ReasonUnmatched = "WhenFalse"

// Unmatch takes in that spec.parent.when is false, so that the rule does nothing for the parent. That the parent was ready does not count
// then. That it is not ready does: what the rule made is still to be cleaned up.
func (p *Parent) Unmatch() {
	if p.Ready == string(metav1.ConditionFalse) || p.Ready == string(metav1.ConditionUnknown) {
		return
	}
	p.Ready, p.Reason, p.Message = "", ReasonUnmatched, "spec.parent.when is false"
}

// Judge takes in why the rule's readyWhen has the child not ready; empty if it is ready.
func (c *Child) Judge(why string) {
	switch {
	case why != "":
		c.Ready, c.Message = "False", why
	default:
		c.Ready, c.Message = "True", ""
	}
}

// compareObjects puts objects in the order of kind, namespace and name.
func compareObjects(a, b *unstructured.Unstructured) int {
	return cmp.Compare(identity.Of(a).String(), identity.Of(b).String())
}

// Count completes ParentCount and ChildCount of a rule where Kanon does not report them, as far as the API server allows that.
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

// Created is when an object was created.
func Created(object *unstructured.Unstructured) time.Time { return object.GetCreationTimestamp().Time }

// ShortName is the name of an object as kubectl prints it: deployment.apps/web.
func ShortName(object *unstructured.Unstructured) string {
	return strings.ToLower(object.GroupVersionKind().GroupKind().String()) + "/" + object.GetName()
}

// NoneFound says that the cluster has no object of a kind, or none with the labels that were asked for.
func NoneFound(kind, selector string) string {
	if selector != "" {
		return fmt.Sprintf("no %s has the labels %s", kind, selector)
	}
	return "there is no " + kind
}
