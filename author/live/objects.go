package live

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"kanon.dev/kanon/author/manifests"
	"kanon.dev/kanon/engine/apply/fieldset"
	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/engine/conditions"
	"kanon.dev/kanon/engine/identity"
	"kanon.dev/kanon/rules/readiness"
	"kanon.dev/kanon/rules/syntax"
)

// Noun names the objects of a rule.
type Noun string

// The nouns.
const (
	Parents  Noun = "parents"
	Children Noun = "children"
)

// Item is a parent or a child of a rule.
type Item struct {
	Object *unstructured.Unstructured
	// Owner is the parent that a child was created for, and the node of the rule.
	Owner mark.Owner
	// Ready is True, False or Unknown. For a parent it is the condition Ready that Kanon set for the rule; empty if there
	// is none: Kanon sets none on Kubernetes' own kinds, and none if spec.parent.when is false. For a child it follows
	// from its kind, unless Judge overrides it.
	Ready string
	// Reason is that of a parent's condition, and Status the kstatus of a child.
	Reason, Status, Message string
	// Suspended is true if an annotation suspends the parent.
	Suspended bool
}

// Reader reads the objects of rules.
type Reader struct {
	Client dynamic.Interface
	Kinds  *manifests.Kinds
}

// Query restricts which objects are read.
type Query struct {
	// Namespace is empty for all namespaces.
	Namespace string
	// Selector is nil for all objects.
	Selector labels.Selector
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
	if kind, _ := r.Kinds.Lookup(gvk); !kind.Namespaced {
		namespace = ""
	}
	return r.Client.Resource(gvr).Namespace(namespace), nil
}

// Items reads the parents or the children of a rule. The parents are the objects that match spec.parent, apart from
// when; for a rule in a file they are the objects that it wrote to. The children are the objects that the rule created,
// by their marks.
func (r *Reader) Items(ctx context.Context, rule *Rule, noun Noun, q Query) ([]Item, error) {
	itemOf, err := r.ItemOf(ctx, rule, noun, q)
	if err != nil {
		return nil, err
	}
	resources, err := r.resources(rule, noun, q)
	if err != nil {
		return nil, err
	}
	var items []Item
	for _, resource := range resources {
		list, err := resource.List(ctx, rule.options(noun, q))
		if apierrors.IsNotFound(err) && noun == Children {
			continue // the kind was just removed
		} else if err != nil {
			return nil, fmt.Errorf("list the %s of rule %s: %w", noun, rule.Name, err)
		}
		for i := range list.Items {
			item, ok := itemOf(&list.Items[i])
			again := slices.ContainsFunc(items, func(other Item) bool { return other.Object.GetUID() == item.Object.GetUID() }) // listed in another version
			if ok && (!again || noun == Parents) {
				items = append(items, item)
			}
		}
	}
	slices.SortFunc(items, func(a, b Item) int {
		p, q := a.Owner.Parent, b.Owner.Parent
		return cmp.Or(cmp.Compare(p.Namespace, q.Namespace), cmp.Compare(p.Name, q.Name), cmp.Compare(a.Owner.Node, b.Owner.Node),
			cmp.Compare(identity.Of(a.Object).String(), identity.Of(b.Object).String()))
	})
	return items, nil
}

// Watches starts watches of everything that Items reads. Pass what they report to the function of ItemOf.
func (r *Reader) Watches(ctx context.Context, rule *Rule, noun Noun, q Query) ([]Watch, error) {
	resources, err := r.resources(rule, noun, q)
	watches := make([]Watch, len(resources))
	for i, resource := range resources {
		if err == nil {
			watches[i], err = StartWatch(ctx, resource, rule.options(noun, q))
		}
	}
	return watches, err
}

// resources returns the clients for the kinds of parents or children. It leaves out kinds of children that the cluster
// does not have.
func (r *Reader) resources(rule *Rule, noun Noun, q Query) (all []dynamic.ResourceInterface, err error) {
	for _, gvk := range rule.kinds(noun) {
		resource, missing := r.Resource(gvk, q.Namespace)
		if missing == nil {
			all = append(all, resource)
		} else if noun == Parents {
			err = missing
		}
	}
	return all, err
}

// ItemOf returns a function that makes an item of an object; false if it is no parent or child of the rule.
func (r *Reader) ItemOf(ctx context.Context, rule *Rule, noun Noun, q Query) (func(*unstructured.Unstructured) (Item, bool), error) {
	if noun == Children {
		return func(object *unstructured.Unstructured) (Item, bool) {
			child := childOf(object)
			return child, child.Owner.RuleID == rule.ID
		}, nil
	}
	selects, err := r.Selector(ctx, rule, q.Namespace)
	return func(object *unstructured.Unstructured) (Item, bool) { return rule.ParentOf(object), selects(object) }, err
}

// Selector returns a function that reports whether a rule selects an object of its parents' kind, apart from
// spec.parent.when. A rule in a file selects the objects in the namespace that it wrote to, or created children for.
func (r *Reader) Selector(ctx context.Context, rule *Rule, namespace string) (func(*unstructured.Unstructured) bool, error) {
	if rule.Decoded != nil {
		namespaces := NamespaceLabels(ctx, r.Client)
		return func(object *unstructured.Unstructured) bool { return rule.Decoded.MaySelect(object, namespaces) }, nil
	}
	children, err := r.Items(ctx, rule, Children, Query{Namespace: namespace})
	return func(object *unstructured.Unstructured) bool {
		return rule.wroteTo(object) ||
			slices.ContainsFunc(children, func(child Item) bool { return child.Owner.Parent.UID == object.GetUID() })
	}, err
}

// wroteTo reports whether an object has a field manager of the rule.
func (rule *Rule) wroteTo(object *unstructured.Unstructured) bool {
	return len(object.GetManagedFields()) > 0 && fieldset.IsManaged(object, rule.ID)
}

// options selects objects by the labels of the query, and by those of the rule or of its marks. Objects that copied the
// label of a mark are selected too.
func (rule *Rule) options(noun Noun, q Query) metav1.ListOptions {
	selector := q.Selector
	if selector == nil {
		selector = labels.Everything()
	}
	more := labels.SelectorFromSet(labels.Set{mark.LabelRule: rule.ID})
	if noun == Parents {
		more = labels.Everything()
		if rule.Decoded != nil && rule.Decoded.Parent.Selector != nil {
			more = rule.Decoded.Parent.Selector
		}
	}
	requirements, _ := more.Requirements()
	return metav1.ListOptions{LabelSelector: selector.Add(requirements...).String()}
}

// kinds returns the kind of the parents, or the kinds of children that the rule has or had.
func (rule *Rule) kinds(noun Noun) []schema.GroupVersionKind {
	if noun == Parents {
		return []schema.GroupVersionKind{rule.ParentKind()}
	}
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

// Parent reads the parent that the mark of a child of the rule names; nil if it is gone.
func (r *Reader) Parent(ctx context.Context, rule *Rule, ref mark.Ref) (*unstructured.Unstructured, error) {
	resource, err := r.Resource(rule.ParentKind(), ref.Namespace)
	if err != nil || ref.Name == "" {
		return nil, err
	}
	parent, err := resource.Get(ctx, ref.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err), err == nil && ref.UID != "" && parent.GetUID() != ref.UID:
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("get %s: %w", ref, err)
	}
	return parent, nil
}

// ParentOf returns an object as a parent, with what Kanon reports on it.
func (rule *Rule) ParentOf(object *unstructured.Unstructured) Item {
	parent := Item{Object: object, Suspended: conditions.IsSuspended(object)}
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

// childOf returns an object as a child, with its kstatus.
func childOf(object *unstructured.Unstructured) Item {
	owner, _ := mark.ReadOwner(object)
	child := Item{Object: object, Owner: owner, Ready: "False"}
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

// Unmatch records that spec.parent.when of a parent is false, so the rule does nothing for it. A parent that is not ready
// stays so: its children are still to be cleaned up.
func (i *Item) Unmatch() {
	if i.Ready != "False" && i.Ready != "Unknown" {
		i.Ready, i.Reason, i.Message = "", "WhenFalse", "spec.parent.when is false"
	}
}

// Judge sets whether a child is ready by the rule's readyWhen. why is the reason if it is not; empty if it is.
func (i *Item) Judge(why string) {
	i.Ready, i.Message = "True", why
	if why != "" {
		i.Ready = "False"
	}
}

// Count fills in ParentCount and ChildCount if Kanon does not report them and the user may list the objects.
func (r *Reader) Count(ctx context.Context, rule *Rule) error {
	if rule.ParentCount >= 0 && rule.ChildCount >= 0 {
		return nil
	}
	for noun, count := range map[Noun]*int{Parents: &rule.ParentCount, Children: &rule.ChildCount} {
		if _, ok := r.Kinds.Resource(rule.ParentKind()); !ok && noun == Parents {
			*count = 0
			continue
		}
		items, err := r.Items(ctx, rule, noun, Query{})
		if err == nil {
			*count = len(items)
		} else if !apierrors.IsForbidden(err) {
			return err
		}
	}
	return nil
}

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
