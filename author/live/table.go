package live

import (
	"time"

	"kanon.dev/kanon/engine/apply/mark"
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

// RuleList makes a printable list of rules.
func RuleList(rules []*Rule, now time.Time) List {
	l := List{Columns: Columns(
		"NAMESPACE", "NAME", "READY", "STATUS", "PARENT", "PARENTS", "CHILDREN", "SOURCE", "AGE", "revision", "message")}
	for _, rule := range rules {
		l.Add(rule.Name.String(), rule.view(), rule.Name.Namespace, rule.Name.Name, rule.State.Ready(), string(rule.State),
			OrNone(rule.ParentKind().Kind), CountText(rule.ParentCount), CountText(rule.ChildCount), rule.Source(),
			Age(rule.Created, now), OrNone(rule.Revision()), Line(rule.Message, true))
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

// itemView is a parent or a child as JSON. It has nothing of the object's content.
type itemView struct {
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
	// Node and Parent are those of a child.
	Node   string     `json:"node,omitempty"`
	Parent *parentRef `json:"parent,omitempty"`
}

type parentRef struct {
	Kind      string `json:"kind,omitempty"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`
	UID       string `json:"uid"`
}

// ItemList makes a printable list of parents or children. If withNamespace is true, the first column is their namespace.
func ItemList(noun Noun, items []Item, withNamespace bool, now time.Time) List {
	titles := []string{"NAMESPACE", "NAME", "READY", "REASON", "AGE", "MESSAGE"}
	if noun == Children {
		titles = []string{"NAMESPACE", "PARENT", "NODE", "KIND", "NAME", "READY", "STATUS", "AGE", "MESSAGE"}
	}
	l := List{Columns: Columns(titles...)}
	for _, item := range items {
		o := item.Object
		v := itemView{
			APIVersion: o.GetAPIVersion(), Kind: o.GetKind(), Namespace: o.GetNamespace(), Name: o.GetName(), Created: o.GetCreationTimestamp().Time,
			Ready: item.Ready, Reason: item.Reason, Status: item.Status, Message: item.Message, Suspended: item.Suspended,
		}
		age, message := Age(v.Created, now), Line(item.Message, false)
		cells := []string{v.Namespace, v.Name, OrNone(item.Ready), OrNone(item.Reason), age, message}
		if noun == Children {
			p := item.Owner.Parent
			v.Node, v.Parent = item.Owner.Node, &parentRef{Kind: p.Kind, Namespace: p.Namespace, Name: p.Name, UID: string(p.UID)}
			cells = []string{v.Namespace, parentName(p, v.Namespace), OrNone(v.Node), v.Kind, v.Name, item.Ready, item.Status, age, message}
		}
		l.Add(ShortName(o), v, cells...)
	}
	return withoutNamespace(l, withNamespace)
}

// parentName is the name of a parent, with its namespace if the child is in another one.
func parentName(parent mark.Ref, namespace string) string {
	if parent.Namespace != "" && parent.Namespace != namespace {
		return parent.Namespace + "/" + parent.Name
	}
	return OrNone(parent.Name)
}

// withoutNamespace drops the first column, unless it is wanted.
func withoutNamespace(l List, wanted bool) List {
	if wanted {
		return l
	}
	l.Columns = l.Columns[1:]
	for i := range l.Rows {
		l.Rows[i].Cells = l.Rows[i].Cells[1:]
	}
	return l
}
