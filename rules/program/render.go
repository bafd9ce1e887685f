package program

import (
	"cmp"
	"reflect"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kanon.dev/kanon/rules/celenv"
	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/syntax"
)

// parentClaim stands for the parent in Evaluation.claimed.
const parentClaim = -1

func (e *Evaluation) renderNode(i int) {
	child := e.prog.Children[i]
	n := &e.nodes[i]
	if child.IsList {
		e.renderItems(i)
		return
	}
	it := item{scope: *e.scopeOf(&child.Body, nil, 0)}
	p := n.awaits
	if p == nil {
		p = e.renderItem(child, &it)
	} else if e.renderExisting(child, &it); it.object != nil {
		n.problem, n.partial, p = p, true, nil
	}
	switch {
	case p != nil:
		e.stop(i, p)
		return
	case it.object == nil:
		n.state = nodeSkipped
		return
	}
	id := identityOf(it.object)
	if p := e.claim(i, id); p != nil {
		e.stop(i, p)
		return
	}
	if it.fate == fateUncreated {
		n.state, n.uncreated = nodeUncreated, []*unstructured.Unstructured{it.object}
		return
	}
	n.items = []item{it}
	e.rendersAll(i)
}

func (e *Evaluation) claim(i int, id identity) *Problem {
	other, taken := e.claimed[id]
	switch {
	case !taken:
		e.claimed[id] = i
		return nil
	case other == parentClaim:
		return Failure("%s is the parent itself", id).Under("template.metadata.name")
	}
	return Failure("%s is rendered by %s as well", id, e.prog.Children[other].ID).Under("template.metadata.name")
}

// renderItem renders the object of an item and decides what happens to it. The item has no object if its when is false.
func (e *Evaluation) renderItem(child *Child, it *item) *Problem {
	if holds, p := child.When.Holds(&it.scope, "when"); p != nil || !holds {
		return p
	}
	if p := e.checkKind(child.GVK); p != nil {
		return p
	}
	object, p := e.renderObject(child, &it.scope)
	if p != nil {
		return p
	}
	if p := e.decide(child, it, object); p != nil {
		return p
	}
	if p := e.decideIgnored(child, &it.scope, identityOf(object)); p != nil {
		return p
	}
	if p := e.decideDeletion(child, &it.scope, identityOf(object)); p != nil {
		return p
	}
	it.object = object
	return nil
}

// renderExisting renders an item of which a dependency is not ready. An object that does not exist is left out. An
// existing one is kept in sync if it is rendered as it was last applied; otherwise it is left as it is.
func (e *Evaluation) renderExisting(child *Child, it *item) {
	if e.reader == nil || e.renderItem(child, it) != nil || it.object == nil {
		it.object = nil
		return
	}
	if it.before == nil {
		it.before, _ = e.reader.Live(it.object) // if that is not known, nothing is done
	}
	switch {
	case it.before == nil:
		it.object = nil
		return
	case it.fate == fateWritten && (it.recreation.IsDue() || e.reader.Outdated(child.ID, it.object, it.before)):
		it.fate, it.live, it.postponed = fateKept, it.before, true
	case it.fate == fateWritten && child.Renews():
		it.recreation = RecreationForbidden
	}
	it.awaits = true
}

func (e *Evaluation) renderObject(child *Child, s *scope) (*unstructured.Unstructured, *Problem) {
	fields, p := e.renderFields(child.Template, s, "the template gives no object")
	if p != nil {
		return nil, p.Under("template")
	}
	object := &unstructured.Unstructured{Object: fields}
	place := objectPlace{
		Kind: child.GVK.Kind, Namespaced: child.Namespaced,
		Parent: e.object.GetNamespace(), ParentNamespaced: e.prog.Parent.Namespaced,
	}
	if p := completeObject(object, place); p != nil {
		return nil, p.Under("template.metadata")
	}
	if p := e.session.HoldObject(fields); p != nil {
		return nil, p.Under("template")
	}
	return object, nil
}

// renderFields renders a template that must give a map. nothing is the message if it does not.
func (e *Evaluation) renderFields(t Template, s *scope, nothing string) (map[string]any, *Problem) {
	e.session.MakeRoom()
	val, ok, p := t.Render(s)
	if p != nil {
		return nil, p
	}
	fields, isMap := val.(map[string]any)
	if !ok || !isMap {
		return nil, Failure("%s", nothing)
	}
	return fields, nil
}

// rendersAll marks a node as rendered, unless there are too many children.
func (e *Evaluation) rendersAll(i int) {
	n, most := &e.nodes[i], e.prog.Limits.Children
	total := e.rendered + len(n.items)
	switch {
	case total <= most:
		e.rendered, n.state = total, nodeRendered
	case e.rendered == 0:
		e.stop(i, Failure("renders %s children, more than the %s allowed by --max-children", diagnostic.Number(len(n.items)), diagnostic.Number(most)))
	default:
		e.stop(i, Failure("renders %s children, which makes %s with those of other nodes, more than the %s allowed by --max-children",
			diagnostic.Number(len(n.items)), diagnostic.Number(total), diagnostic.Number(most)))
	}
}

// decide evaluates createWhen for an object that does not exist, and updateWhen and recreateWhen for one that does.
func (e *Evaluation) decide(child *Child, it *item, object *unstructured.Unstructured) *Problem {
	if child.CreateWhen == nil && !child.guarded() && !child.Renews() && child.Rollout == nil {
		return nil
	}
	var live, replaced *unstructured.Unstructured
	if e.reader != nil {
		var err error
		if live, err = e.reader.Live(object); err != nil {
			return Waiting("it is not known yet whether it exists: %s", err.Error())
		}
		if live == nil {
			replaced = e.reader.Replaced(object)
		}
	}
	it.before = live
	if kept := cmp.Or(live, replaced); kept != nil {
		if p := e.keepGenerated(child, it, object, kept); p != nil {
			return p
		}
	}
	if live == nil {
		holds, p := child.CreateWhen.Holds(&it.scope, "createWhen")
		if p == nil && !holds {
			it.fate = fateUncreated
		}
		return p
	}
	updates := child.UpdatePolicy != syntax.UpdateCreateOnly
	if updates {
		var p *Problem
		if updates, p = child.UpdateWhen.Holds(it.scope.of(live), "updateWhen"); p != nil {
			return p
		}
	}
	if !updates {
		it.fate, it.live = fateKept, live
	}
	return e.decideRecreation(child, it, live)
}

// guarded reports whether a live object of the child may have to stay as it is, or to keep values.
func (c *Child) guarded() bool {
	return c.UpdateWhen != nil || c.UpdatePolicy == syntax.UpdateCreateOnly || len(c.Generated) > 0
}

// Renews reports whether an object of the child may be deleted and created again.
func (c *Child) Renews() bool {
	return c.RecreateWhen != nil || c.UpdatePolicy == syntax.UpdateRecreate || c.UpdatePolicy == syntax.UpdateApplyOrRecreate
}

// decideRecreation evaluates recreateWhen for a live object that may be changed, and createWhen for its replacement: an
// object that could not be created again is not deleted. If recreateWhen waits, it counts as false. With CreateOnly, an
// object is recreated or left as it is.
func (e *Evaluation) decideRecreation(child *Child, it *item, live *unstructured.Unstructured) *Problem {
	once := child.UpdatePolicy == syntax.UpdateCreateOnly
	if !child.Renews() || it.fate != fateWritten && !once {
		return nil
	}
	if child.RecreateWhen != nil {
		s := it.scope.of(live)
		ok, p := child.RecreateWhen.IsTrue(s)
		if p != nil && p.Verdict != Waits {
			return p.Under("recreateWhen")
		}
		switch created := live.GetCreationTimestamp(); {
		case !ok:
		case wasTrue(child.RecreateWhen, s, created.Time):
			it.recreation = RecreationDue
		default:
			it.recreation = RecreationExpired
		}
	}
	if child.CreateWhen != nil {
		if ok, p := child.CreateWhen.IsTrue(&it.scope); p != nil || !ok {
			it.recreation = RecreationForbidden
		}
	}
	if once && it.recreation.IsDue() {
		it.fate, it.live = fateWritten, nil
	}
	return nil
}

// wasTrue reports whether an expression would have been true at an earlier time, if nothing but the time were
// different.
func wasTrue(x *Expression, s *scope, at time.Time) bool {
	then, clock := *s, celenv.NewClock(at)
	then.clock = &clock
	ok, p := x.IsTrue(&then)
	return ok || p != nil || at.IsZero()
}

// MayRecreate reports whether objects of a kind may be deleted and created again. It is false for kinds whose deletion
// destroys everything in them.
func MayRecreate(gvk schema.GroupVersionKind) bool {
	return !slices.Contains([]schema.GroupKind{
		{Kind: "Namespace"},
		{Kind: "PersistentVolume"},
		{Kind: "PersistentVolumeClaim"},
		{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"},
	}, gvk.GroupKind())
}

// KeepsPods reports whether an object of a kind that is recreated with Orphan takes over the Pods of the one before.
func KeepsPods(gvk schema.GroupVersionKind) bool {
	return gvk.Group == "apps" && slices.Contains([]string{"DaemonSet", "Deployment", "ReplicaSet", "StatefulSet"}, gvk.Kind)
}

func (e *Evaluation) decideIgnored(child *Child, s *scope, id identity) *Problem {
	for i := range child.Handovers {
		h := &child.Handovers[i]
		holds, p := h.When.Holds(s, h.Place)
		if p != nil {
			return p
		}
		if !holds {
			continue
		}
		if e.ignores == nil {
			e.ignores = make(map[identity][]syntax.IgnorePath)
		}
		e.ignores[id] = append(e.ignores[id], h.Path)
	}
	return nil
}

// Ignores returns the fields of an object from Next that are left to others because the when of an ignore holds. They
// come in addition to Child.Ignore and are read-only.
func (e *Evaluation) Ignores(object *unstructured.Unstructured) []syntax.IgnorePath {
	return e.ignores[identityOf(object)]
}

func (e *Evaluation) decideDeletion(child *Child, s *scope, id identity) *Problem {
	out := child.Ending
	var p *Problem
	if t := child.EndingFrom.WhenPruned; t != nil {
		if out.WhenPruned, p = DeletionPolicyOf(t, s); p != nil {
			return p.Under("deletionPolicy")
		}
	}
	if t := child.EndingFrom.WhenDeleted; t != nil {
		if out.WhenDeleted, p = DeletionPolicyOf(t, s); p != nil {
			return p.Under("deletionPolicy")
		}
	}
	if out != (Ending{syntax.EndDelete, syntax.EndDelete}) {
		if e.deletions == nil {
			e.deletions = make(map[identity]Ending)
		}
		e.deletions[id] = out
	}
	return nil
}

// Ending returns the deletion policies of an object from Next.
func (e *Evaluation) Ending(object *unstructured.Unstructured) Ending {
	if out, ok := e.deletions[identityOf(object)]; ok {
		return out
	}
	return Ending{syntax.EndDelete, syntax.EndDelete}
}

// keepGenerated copies the generated fields of the live object, or of the one that is replaced, into a rendered object,
// and renders again what is computed from them. Fields that the live object lacks are new; they may be written only to
// this version of it.
func (e *Evaluation) keepGenerated(child *Child, it *item, object, live *unstructured.Unstructured) *Problem {
	if readsAnother(child.Generated, object, live) {
		it.scope = *e.scopeOf(&child.Body, it.scope.items, int(it.scope.index))
		it.scope.own = &ownObject{child: child.ID, object: live.Object}
		again, p := e.renderObject(child, &it.scope)
		if p != nil {
			return p
		}
		object.Object = again.Object
	}
	fresh, p := keepValues(child.Generated, object, live)
	if it.before != nil {
		it.fresh, it.kept = fresh, nil
		for _, field := range child.Generated {
			if _, ok := valueAt(live.Object, field.Path); ok {
				it.kept = append(it.kept, field.Path)
			}
		}
	}
	return p
}

// A field can be generated once in a child that otherwise follows the rule:
//
//	data:
//	  password: ${observed.secret.?data.?password.orValue(bytes(random(24)))}
//
// random is the default of the very field that the template sets. So the value is kept as long as the object has it, whatever
// happens to the object's labels: before a write, the value of the live object of that name replaces the rendered one. A new
// value is written by a POST, or to exactly the version of the object that was read without the field.
//
// A variable of the child can have such a value, so that other fields can be computed from it. The template sets the field
// that the variable reads. If the live object has another value than the variable, the template is rendered again with that.

// GeneratedField is a field that is generated once.
type GeneratedField struct {
	Path []string
	// Variable is true if a variable of the child has the value.
	Variable bool
}

// keepValues copies the values of the generated fields from the live object into a rendered one. fresh are the paths that the
// live object lacks.
func keepValues(fields []GeneratedField, object, live *unstructured.Unstructured) (fresh [][]string, p *Problem) {
	for _, field := range fields {
		value, ok := valueAt(live.Object, field.Path)
		if !ok {
			fresh = append(fresh, field.Path)
			continue
		}
		if err := unstructured.SetNestedField(object.Object, runtime.DeepCopyJSONValue(value), field.Path...); err != nil {
			return fresh, Failure("the field cannot keep its value").Under("template." + strings.Join(field.Path, "."))
		}
	}
	return fresh, nil
}

// readsAnother reports whether a generated variable has another value than the live object. That happens if the live
// object lacks the child's labels, so that observed does not have it.
func readsAnother(fields []GeneratedField, object, live *unstructured.Unstructured) bool {
	return slices.ContainsFunc(fields, func(field GeneratedField) bool {
		kept, ok := valueAt(live.Object, field.Path)
		has, _ := valueAt(object.Object, field.Path)
		return field.Variable && ok && !reflect.DeepEqual(has, kept)
	})
}

func valueAt(object map[string]any, path []string) (any, bool) {
	value, found, err := unstructured.NestedFieldNoCopy(object, path...)
	return value, err == nil && found && value != nil
}
