package syntax

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/language"
	"kanon.dev/kanon/rules/yamltree"
)

// Variable is one item of spec.variables or of a child's variables.
type Variable struct {
	Name string              `rule:"name,identifier"`
	Pos  diagnostic.Position `rule:"name"`
	// Value is nil if it could not be read.
	Value *yamltree.Node `rule:"value"`
}

// Dimension is one dimension of a forEach.
type Dimension struct {
	Name string              `rule:"name,item"`
	Pos  diagnostic.Position `rule:"name"`
	// In is nil if it could not be read.
	In *yamltree.Node `rule:"in"`
}

// Dependency is the id of another child, in dependsOn or sameAs.
type Dependency struct {
	ID  string
	Pos diagnostic.Position
}

func (dep *Dependency) decode(d *decoder, v value, _ string) {
	read := func(n *yamltree.Node, path string) { dep.Pos, dep.ID = d.src.At(n), d.textOrNothing(n, path) }
	if v.typ.Or == nil {
		read(v.Node, v.path)
		return
	}
	d.object(v.Node, v.path, v.typ.Or.Fields, func(_ *language.Field, n *yamltree.Node) { read(n, v.path+".sameAs") })
}

// Body is what children, lookups and patches have in common: when they exist, and for which items.
type Body struct {
	When      *yamltree.Node `rule:"when"`
	ForEach   []Dimension    `rule:"forEach,dimensions"`
	Variables []Variable     `rule:"variables"`

	Gaps Gaps
	// OpenVariables and OpenNames are true if some variables, or forEach names, could not be read.
	OpenVariables, OpenNames bool
}

func (b *Body) complete(d *decoder, n *yamltree.Node) {
	uniqueVariables(d, b.Variables)
	unique(d, "items of forEach", "name", b.ForEach, func(f *Dimension) (string, diagnostic.Position) { return f.Name, f.Pos })
	b.OpenVariables = isOpen(n, "variables") || hasUnnamed(b.Variables)
	b.OpenNames = isOpen(n, "forEach") || slices.ContainsFunc(b.ForEach, func(f Dimension) bool { return f.Name == "" })
}

func uniqueVariables(d *decoder, variables []Variable) {
	unique(d, "variables", "name", variables, func(v *Variable) (string, diagnostic.Position) { return v.Name, v.Pos })
}

func hasUnnamed(variables []Variable) bool {
	return slices.ContainsFunc(variables, func(v Variable) bool { return v.Name == "" })
}

// isOpen reports whether some items of a list could not be read.
func isOpen(n *yamltree.Node, field string) bool {
	list := n.Get(field)
	return slices.Contains(n.Lost, field) || list != nil && (list.Kind != yamltree.Sequence || len(list.Lost) > 0)
}

// Child is one item of spec.children or of spec.finalize.children.
type Child struct {
	Body
	ID    string              `rule:"id,identifier"`
	Pos   diagnostic.Position `rule:"id"`
	Index int
	// SameAs is the child whose items this one shares; nil if it has its own.
	SameAs    *Dependency    `rule:"forEach,sameAs"`
	DependsOn []Dependency   `rule:"dependsOn"`
	ReadyWhen *yamltree.Node `rule:"readyWhen"`
	Adopt     bool           `rule:"adopt"`
	Optional  bool           `rule:"optional"`
	// CreateWhen and UpdateWhen decide whether the object may be created and updated, RecreateWhen whether it is recreated.
	CreateWhen      *yamltree.Node      `rule:"createWhen"`
	UpdateWhen      *yamltree.Node      `rule:"updateWhen"`
	RecreateWhen    *yamltree.Node      `rule:"recreateWhen"`
	UpdatePolicy    UpdatePolicy        `rule:"updatePolicy"`
	UpdatePolicyPos diagnostic.Position `rule:"updatePolicy"`
	// RecreatePropagation is what happens to what an object owns when it is recreated; empty: Foreground.
	RecreatePropagation metav1.DeletionPropagation `rule:"recreatePropagation"`
	// Rollout is nil without the field.
	Rollout  *Rollout `rule:"rollout"`
	Deletion Deletion `rule:"deletionPolicy"`
	// Cleanup is true for the children of spec.finalize.
	Cleanup bool
	Ignore  []Ignore `rule:"ignore"`
	// Template is nil if it is missing or not a mapping.
	Template *yamltree.Node `rule:"template"`
}

func (c *Child) complete(d *decoder, n *yamltree.Node, _ string) {
	c.Body.complete(d, n)
	if c.SameAs != nil && c.SameAs.ID == "" {
		c.SameAs = nil
	}
	c.OpenNames = c.OpenNames && c.SameAs == nil
	if c.UpdatePolicy == "" {
		c.UpdatePolicy = UpdateApply
	}
	c.Ignore = slices.DeleteFunc(c.Ignore, func(i Ignore) bool { return i.Path == nil })
}

// Label names a child in messages, by its id if it has one.
func (c *Child) Label() string {
	switch {
	case c.ID != "":
		return c.ID
	case c.Cleanup:
		return fmt.Sprintf("spec.finalize.children[%d]", c.Index)
	default:
		return fmt.Sprintf("spec.children[%d]", c.Index)
	}
}

// Many reports whether a child has a list of objects.
func (c *Child) Many() bool { return len(c.ForEach) > 0 || c.SameAs != nil }

// NamesNamespace reports whether the template sets a namespace, or may set one.
func (c *Child) NamesNamespace() bool {
	metadata := c.Template.Get("metadata")
	return metadata != nil && (metadata.Kind != yamltree.Mapping || metadata.Has("namespace") || metadata.Partial ||
		slices.ContainsFunc(metadata.Fields, func(f yamltree.Field) bool { return yamltree.HasExpression(f.Name) }))
}

// Ignore is one item of ignore: a path, or a mapping with a path and a when.
type Ignore struct {
	// Place is the path of the item below the child, such as ignore[0].
	Place string
	Path  *yamltree.Node `rule:"path"`
	// When is nil if the field is always left to others.
	When *yamltree.Node `rule:"when"`
}

func (i *Ignore) decode(d *decoder, v value, _ string) {
	i.Place = v.path[strings.LastIndex(v.path, "ignore["):]
	if v.Kind == yamltree.Mapping {
		d.fill(v.Node, v.path, v.typ.Or.Fields, i)
	} else if _, ok := d.plainString(v.Node, v.path); ok {
		i.Path = v.Node
	}
}

// Rollout is rollout of a child.
type Rollout struct {
	Node *yamltree.Node `rule:""`
	// Max is maxUnavailable if that is an expression. Otherwise Share has its value.
	Max   *yamltree.Node `rule:"maxUnavailable,computed"`
	Share Share          `rule:"maxUnavailable"`
	Order string         `rule:"order"`
	// Ordered is true for order OrderedReady, which handles the items one after the other.
	Ordered   bool
	Partition int64 `rule:"partition"`
}

func (r *Rollout) complete(*decoder, *yamltree.Node, string) {
	r.Ordered = r.Order == "OrderedReady"
	if r.Share == (Share{}) {
		r.Share.count = 1
	}
}

// Share is a number of items, or a percentage of them.
type Share struct {
	count, percent int64
}

// Of is the share of a number of items, at least one.
func (s Share) Of(items int) int {
	if s.percent > 0 {
		return max(1, int(int64(items)*s.percent/100))
	}
	return int(s.count)
}

var errShare = errors.New("must be a number from 1 on, or text from 1% to 100%")

// ShareOf parses maxUnavailable.
func ShareOf(val any) (Share, error) {
	switch val := val.(type) {
	case int64:
		if val >= 1 && val <= 1<<30 {
			return Share{count: val}, nil
		}
	case string:
		text, percent := strings.CutSuffix(val, "%")
		n, err := strconv.ParseInt(text, 10, 64)
		if err == nil && percent && n >= 1 && n <= 100 {
			return Share{percent: n}, nil
		}
	}
	return Share{}, errShare
}

func (s *Share) decode(d *decoder, v value, _ string) {
	if IsExpressionText(v.Node) {
		return
	}
	var err error
	if *s, err = ShareOf(v.Value); err != nil {
		d.report(v.Node, diagnostic.CodeRolloutShare, "%s %s, and is %s", v.path, err.Error(), v.Shown())
	}
}

// DeletionPolicy is what happens to a child that is no longer wanted.
type DeletionPolicy string

const (
	// EndDelete deletes it.
	EndDelete DeletionPolicy = "Delete"
	// EndOrphan keeps it, without an owner.
	EndOrphan DeletionPolicy = "Orphan"
)

// DeletionPolicies are the words for a DeletionPolicy.
func DeletionPolicies() []string { return language.At("spec.children").Words("deletionPolicy") }

// Deletion is deletionPolicy of a child: one policy for both cases, or one for each. A part that is missing or has a
// mistake is nil.
type Deletion struct {
	WhenPruned  *yamltree.Node `rule:"whenPruned"`
	WhenDeleted *yamltree.Node `rule:"whenDeleted"`
}

func (p *Deletion) decode(d *decoder, v value, _ string) {
	if v.Kind == yamltree.Mapping {
		d.fill(v.Node, v.path, v.typ.Or.Fields, p)
	} else if d.typed(v); len(d.findings) == v.before {
		p.WhenPruned, p.WhenDeleted = v.Node, v.Node
	}
}

// UpdatePolicy is how the engine updates the objects of a child.
type UpdatePolicy string

const (
	// UpdateApply updates an object whenever it differs.
	UpdateApply UpdatePolicy = "Apply"
	// UpdateApplyOrRecreate updates an object whenever it differs. If the API server rejects the change, the object is
	// recreated.
	UpdateApplyOrRecreate UpdatePolicy = "ApplyOrRecreate"
	// UpdateRecreate recreates an object whenever the rule renders something else for it.
	UpdateRecreate UpdatePolicy = "Recreate"
	// UpdateCreateOnly creates an object and never updates it.
	UpdateCreateOnly UpdatePolicy = "CreateOnly"
)

// Finalize is spec.finalize.
type Finalize struct {
	// Children are moved to Rule.Children.
	Children []Child `rule:"children"`
	// Until is nil if it is missing or has a mistake.
	Until   *yamltree.Node `rule:"until"`
	Timeout *Duration      `rule:"timeout,1s"`
}

// Duration is spec.requeueAfter, spec.minInterval or spec.finalize.timeout. The tag has the shortest one that is allowed:
// times in expressions are whole seconds, and no reconcile is faster than a millisecond.
type Duration struct {
	// Field is its path below spec, and Least the shortest value that is allowed.
	Field string
	Least time.Duration
	// Node is the expression that computes it. It is nil for a constant, or after a finding.
	Node *yamltree.Node
	// Constant is the value if there is no expression.
	Constant time.Duration
}

func (s *Duration) decode(d *decoder, v value, least string) {
	s.Field = strings.TrimPrefix(v.path, "spec.")
	s.Least, _ = time.ParseDuration(least) // a constant
	text, ok := v.Text()
	switch {
	case ok && yamltree.HasExpression(text):
		s.Node = v.Node
		return
	case !ok:
		hint := `write it as text, such as "10m"`
		if seconds, isInt := v.Value.(int64); isInt && seconds > 0 {
			hint = fmt.Sprintf("write %ds for seconds", seconds)
		}
		d.report(v.Node, diagnostic.CodeDuration, "%s must be a duration, or an expression that gives one, and is %s", v.path, v.What()).WithHint("%s", hint)
		return
	}
	var err error
	if s.Constant, err = time.ParseDuration(text); err != nil {
		d.report(v.Node, diagnostic.CodeDuration, "%s must be a duration such as 90s, 10m or 1h30m, and is %q", v.path, text)
	} else if s.Constant < s.Least {
		d.report(v.Node, diagnostic.CodeDuration, "%s must be at least %s, and is %s", v.path, s.Least, s.Constant)
	}
}

// Condition is one item of spec.conditions. The nodes are nil if they are missing or have a mistake.
type Condition struct {
	Type    string              `rule:"type,conditionType"`
	Pos     diagnostic.Position `rule:"type"`
	Index   int
	Status  *yamltree.Node `rule:"status"`
	Reason  *yamltree.Node `rule:"reason,reason"`
	Message *yamltree.Node `rule:"message"`
	Gaps    Gaps
}

// IsConditionStatus reports whether text is a status that a condition can have.
func IsConditionStatus(s string) bool {
	return slices.Contains(language.At("spec.conditions").Words("status"), s)
}

// Event is one item of spec.events. The nodes are nil if they are missing or have a mistake.
type Event struct {
	Index   int
	Type    string         `rule:"type"`
	When    *yamltree.Node `rule:"when"`
	Reason  *yamltree.Node `rule:"reason,eventReason"`
	Message *yamltree.Node `rule:"message"`
	Gaps    Gaps
}

func (e *Event) complete(*decoder, *yamltree.Node, string) {
	if e.Type == "" {
		e.Type = "Normal"
	}
}
