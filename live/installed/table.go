package installed

import (
	"reflect"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/live/listing"
)

// ruleView is a rule as JSON.
type ruleView struct {
	Namespace string            `json:"namespace"`
	Name      string            `json:"name"`
	ID        string            `json:"id"`
	Labels    map[string]string `json:"labels,omitempty"`
	Ready     string            `json:"ready"`
	State     State             `json:"state"`
	Reason    string            `json:"reason,omitempty"`
	Message   string            `json:"message,omitempty"`
	Parent    kindView          `json:"parent"`
	// Parents and Children are counts; absent if they are not known.
	Parents  *int       `json:"parents,omitempty"`
	Children *int       `json:"children,omitempty"`
	Source   sourceView `json:"source"`
	Revision string     `json:"revision,omitempty"`
	Held     *heldView  `json:"held,omitempty"`
	Created  time.Time  `json:"created,omitzero"`
}

type kindView struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
}

type sourceView struct {
	ConfigMap string `json:"configMap,omitempty"`
	Rule      string `json:"rule,omitempty"`
	File      string `json:"file,omitempty"`
	Namespace string `json:"namespace,omitempty"`
}

type heldView struct {
	Revision string   `json:"revision"`
	Reason   string   `json:"reason"`
	Objects  []string `json:"objects"`
	More     []string `json:"more,omitempty"`
}

// ListOf makes a printable list of rules.
func ListOf(rules []*Rule, now time.Time) listing.List {
	l := listing.List{Columns: listing.Columns(
		"NAMESPACE", "NAME", "READY", "STATUS", "PARENT", "PARENTS", "CHILDREN", "SOURCE", "AGE", "revision", "message")}
	for _, rule := range rules {
		l.Add(rule.Name.String(), rule.view(), rule.Name.Namespace, rule.Name.Name, rule.State.Ready(), string(rule.State),
			listing.Or(rule.ParentKind().Kind), listing.Count(rule.ParentCount), listing.Count(rule.ChildCount), rule.Source(),
			listing.Age(rule.Created, now), listing.Or(rule.Revision()), listing.Line(rule.Message, true))
	}
	return l
}

func (rule *Rule) view() ruleView {
	gvk := rule.ParentKind()
	v := ruleView{
		Namespace: rule.Name.Namespace, Name: rule.Name.Name, ID: rule.ID, Labels: rule.Labels(),
		Ready: rule.State.Ready(), State: rule.State, Reason: rule.Reason, Message: rule.Message,
		Parent: kindView{gvk.GroupVersion().String(), gvk.Kind}, Parents: known(rule.ParentCount), Children: known(rule.ChildCount),
		Source:   sourceView{ConfigMap: rule.Origin.ConfigMap.Name, Rule: rule.Origin.Rule.Name, File: rule.Origin.Path},
		Revision: rule.Revision(), Created: rule.Created,
	}
	if rule.Object != nil {
		v.Source.Namespace = rule.Object.GetNamespace()
	}
	if h := rule.PruneHeld; h != nil {
		v.Held = &heldView{h.Revision, h.Reason, h.Objects, h.More}
	}
	return v
}

func known(n int) *int {
	if n < 0 {
		return nil
	}
	return &n
}

// Revision identifies the rule's text. For a rule in a file it is the last revision that may delete what it does not
// render. It is empty if neither is known.
func (rule *Rule) Revision() string {
	switch {
	case rule.Decoded != nil && !rule.Decoded.Partial:
		return rule.Decoded.Hash()
	case rule.Decoded == nil && rule.Record != nil:
		return rule.Record.Revision
	default:
		return ""
	}
}

// objectView is what parents and children have in common in JSON. It has nothing of the object's content.
type objectView struct {
	APIVersion string    `json:"apiVersion"`
	Kind       string    `json:"kind"`
	Namespace  string    `json:"namespace,omitempty"`
	Name       string    `json:"name"`
	Ready      string    `json:"ready,omitempty"`
	Reason     string    `json:"reason,omitempty"`
	Status     string    `json:"status,omitempty"`
	Message    string    `json:"message,omitempty"`
	Suspended  bool      `json:"suspended,omitempty"`
	Created    time.Time `json:"created"`
}

func viewOf(object *unstructured.Unstructured) objectView {
	return objectView{
		APIVersion: object.GetAPIVersion(), Kind: object.GetKind(), Namespace: object.GetNamespace(), Name: object.GetName(),
		Created: Created(object),
	}
}

// childView is a child as JSON.
type childView struct {
	objectView
	Node   string    `json:"node"`
	Parent parentRef `json:"parent"`
}

type parentRef struct {
	Kind      string `json:"kind,omitempty"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`
	UID       string `json:"uid"`
}

// ParentList makes a printable list of parents. If withNamespace is true, the first column is their namespace.
func ParentList(parents []Parent, withNamespace bool, now time.Time) listing.List {
	l := listing.List{Columns: listing.Columns("NAMESPACE", "NAME", "READY", "REASON", "AGE", "MESSAGE")}
	for _, p := range parents {
		v := viewOf(p.Object)
		v.Ready, v.Reason, v.Message, v.Suspended = p.Ready, p.Reason, p.Message, p.Suspended
		l.Add(ShortName(p.Object), v, p.Object.GetNamespace(), p.Object.GetName(), listing.Or(p.Ready), listing.Or(p.Reason),
			listing.Age(v.Created, now), listing.Line(p.Message, false))
	}
	return withoutNamespace(l, withNamespace)
}

// ChildList makes a printable list of children. If withNamespace is true, the first column is their namespace.
func ChildList(children []Child, withNamespace bool, now time.Time) listing.List {
	l := listing.List{Columns: listing.Columns("NAMESPACE", "PARENT", "NODE", "KIND", "NAME", "READY", "STATUS", "AGE", "MESSAGE")}
	for _, c := range children {
		v := childView{objectView: viewOf(c.Object), Node: c.Owner.Node}
		v.Ready, v.Status, v.Message = c.Ready, c.Status, c.Message
		p := c.Owner.Parent
		v.Parent = parentRef{Kind: p.Kind, Namespace: p.Namespace, Name: p.Name, UID: string(p.UID)}
		l.Add(ShortName(c.Object), v, c.Object.GetNamespace(), parentName(p, c.Object), listing.Or(c.Owner.Node),
			c.Object.GetKind(), c.Object.GetName(), c.Ready, c.Status, listing.Age(v.Created, now), listing.Line(c.Message, false))
	}
	return withoutNamespace(l, withNamespace)
}

// parentName is the name of a parent, with its namespace if the child is in another one.
func parentName(parent mark.Ref, child *unstructured.Unstructured) string {
	if parent.Namespace != "" && parent.Namespace != child.GetNamespace() {
		return parent.Namespace + "/" + parent.Name
	}
	return listing.Or(parent.Name)
}

// withoutNamespace drops the first column, unless it is wanted.
func withoutNamespace(l listing.List, wanted bool) listing.List {
	if wanted {
		return l
	}
	l.Columns = l.Columns[1:]
	for i := range l.Rows {
		l.Rows[i].Cells = l.Rows[i].Cells[1:]
	}
	return l
}

// IsSameRow reports whether two rows of ListOf are equal apart from the age.
func IsSameRow(a, b listing.Row) bool { return reflect.DeepEqual(a.Value, b.Value) }
