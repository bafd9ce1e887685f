package ruletest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"kanon.dev/kanon/author/manifests"
	"kanon.dev/kanon/author/memory"
	"kanon.dev/kanon/engine/apply/fieldset"
	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/engine/conditions"
	"kanon.dev/kanon/engine/identity"
	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/program"
)

// compare compares the result of a step for a parent with what is expected of it. A node that fails unexpectedly is a
// failure of every step.
func (r *runner) compare(ctx context.Context, e *Expect) {
	r.compareChildren(e.Children, false)
	r.compareChildren(e.Exactly, true)
	r.compareObjects(e.Objects)
	r.compareParent(e)
	r.compareConditions(e.Conditions)
	r.compareNodes(e)
	r.compareWords("events", e.Events, eventReasons)
	r.compareWords("created", r.named(e.Created, r.state), func(s *state) []string { return objectNames(s.Created) })
	r.compareWords("updated", r.named(e.Updated, r.state), func(s *state) []string { return objectNames(s.Updated) })
	r.compareWords("deleted", r.named(e.Deleted, r.before), func(s *state) []string { return objectNames(s.Deleted) })
	r.compareWords("recreated", r.named(e.Recreated, r.state), func(s *state) []string { return objectNames(s.Recreated) })
	for _, that := range e.That {
		if message := r.assert(ctx, that.want); message != "" {
			r.fail(that.at, "%s", message)
		}
	}
	r.compareOutput(e)
}

func (r *runner) compareChildren(want map[string]expected[any], exact bool) {
	for _, id := range slices.Sorted(maps.Keys(want)) {
		wanted := want[id]
		if !slices.Contains(r.childIDs(), id) {
			r.fail(wanted.at, "the rule has no child %s%s", id, orNearest(id, r.childIDs()))
			continue
		}
		objects := r.state.Children[id]
		path := "children." + id
		switch fields := wanted.want.(type) {
		case nil:
			if len(objects) > 0 {
				r.fail(wanted.at, "%s: want no object, and there is %s", path, identity.Of(objects[0]))
			}
		case []any:
			if len(objects) != len(fields) {
				r.fail(wanted.at, "%s: want %d objects, and there are %d%s%s", path, len(fields), len(objects), namesOf(objects), r.whyNot(id))
				continue
			}
			for i, item := range fields {
				r.compareObject(wanted.at, fmt.Sprintf("%s[%d]", path, i), item, objects[i], exact)
			}
		default:
			switch len(objects) {
			case 0:
				r.fail(wanted.at, "%s does not exist%s", path, r.whyNot(id))
			case 1:
				r.compareObject(wanted.at, path, fields, objects[0], exact)
			default:
				r.fail(wanted.at, "%s are %d objects%s: write a list", path, len(objects), namesOf(objects))
			}
		}
	}
}

// compareObject compares an object with fields. An exact comparison ignores metadata that the API server sets, and the
// status unless it is expected.
func (r *runner) compareObject(at diagnostic.Position, path string, want any, object *unstructured.Unstructured, exact bool) {
	got := object.Object
	if fields, isMap := want.(map[string]any); isMap && fieldset.IsSecret(object) {
		want = asWritten(fields)
	}
	if exact {
		got, want = rendered(object, want), r.normalised(want)
	}
	all := differences(path, want, got, exact)
	if wanted, ok := want.(map[string]any); ok && exact && len(all) > 0 && !fieldset.IsSecret(object) {
		was, is := r.secrets.Objects(wanted, got)
		r.fail(at, "%s is not exactly what is wanted", path)
		r.failures[len(r.failures)-1].Diff = manifests.UnifiedDiff("want", asYAML(was), "got", asYAML(is))
		return
	}
	for _, d := range all {
		if fieldset.IsSecret(object) && holdsSecret(strings.TrimPrefix(d.path, path)) {
			d.text, d.got = "it is not what is wanted, and values of Secrets are not shown", nil
		}
		r.fail(at, "%s", d.message(r.shown))
	}
}

// normalised is an expected object in the form in which the engine writes it. Fields of an object without a kind stay as
// they are.
func (r *runner) normalised(want any) any {
	fields, _ := want.(map[string]any)
	object := &unstructured.Unstructured{Object: fields}
	if object.GetKind() == "" || fieldset.IsSecret(object) {
		return want
	}
	written, err := r.cluster.API.Normalised(r.ctx, object.DeepCopy())
	if err != nil {
		return want
	}
	if status, ok := fields["status"]; ok {
		written.Object["status"] = status
	}
	return written.Object
}

// asYAML formats an object for a diff.
func asYAML(content map[string]any) []byte {
	text, err := yaml.Marshal(content)
	if err != nil {
		return []byte(err.Error() + "\n")
	}
	return text
}

// asWritten has the expected fields of a Secret as the API server stores them: stringData is moved to data.
func asWritten(fields map[string]any) map[string]any {
	if _, ok := fields["stringData"].(map[string]any); !ok {
		return fields
	}
	secret := map[string]any{"apiVersion": "v1", "kind": "Secret", "data": fields["data"], "stringData": fields["stringData"]}
	out := maps.Clone(fields)
	delete(out, "stringData")
	out["data"] = fieldset.FoldStringData(&unstructured.Unstructured{Object: secret})["data"]
	return out
}

// holdsSecret reports whether a path leads to the values of a Secret.
func holdsSecret(path string) bool {
	return strings.HasPrefix(path, ".data") || strings.HasPrefix(path, ".stringData")
}

// rendered is an object without the fields that the rule does not render, unless they are expected.
func rendered(object *unstructured.Unstructured, want any) map[string]any {
	shown := object.DeepCopy()
	mark.Remove(shown)
	for _, field := range []string{"uid", "generation", "creationTimestamp", "resourceVersion"} {
		unstructured.RemoveNestedField(shown.Object, "metadata", field)
	}
	wanted, _ := want.(map[string]any)
	if wanted["status"] == nil {
		delete(shown.Object, "status")
	}
	if _, found, _ := unstructured.NestedString(wanted, "metadata", "namespace"); !found && shown.GetNamespace() == metav1.NamespaceDefault {
		unstructured.RemoveNestedField(shown.Object, "metadata", "namespace")
	}
	if _, found, _ := unstructured.NestedString(wanted, "spec", "clusterIP"); !found && memory.HasGivenAddress(shown) {
		unstructured.RemoveNestedField(shown.Object, "spec", "clusterIP")
	}
	return shown.Object
}

func (r *runner) compareObjects(want []expected[map[string]any]) {
	for _, wanted := range want {
		u := &unstructured.Unstructured{Object: wanted.want}
		if u.GetKind() == "" || u.GetName() == "" {
			r.fail(wanted.at, "an object needs kind and metadata.name")
			continue
		}
		all := slices.Clone(r.state.Objects)
		for _, id := range slices.Sorted(maps.Keys(r.state.Children)) {
			all = append(all, r.state.Children[id]...)
		}
		if r.c.Parents != nil && r.state.Parent != nil {
			all = append(all, r.state.Parent)
		}
		i := slices.IndexFunc(all, func(o *unstructured.Unstructured) bool {
			return o.GetKind() == u.GetKind() && o.GetName() == u.GetName() && (u.GetNamespace() == "" || o.GetNamespace() == u.GetNamespace())
		})
		if i < 0 {
			r.fail(wanted.at, "%s %s does not exist%s", u.GetKind(), u.GetName(), namesOf(all))
			continue
		}
		r.compareObject(wanted.at, u.GetKind()+"/"+u.GetName(), wanted.want, all[i], false)
	}
}

func (r *runner) compareParent(e *Expect) {
	if e.Parent != nil {
		switch {
		case e.Parent.want == nil && r.state.Parent != nil:
			r.fail(e.Parent.at, "parent: want it to be deleted, and it exists%s", r.whyFinalizing())
		case e.Parent.want != nil && r.state.Parent == nil:
			r.fail(e.Parent.at, "parent: it does not exist any more")
		case e.Parent.want != nil:
			r.compareObject(e.Parent.at, "parent", e.Parent.want, r.state.Parent, false)
		}
	}
	if e.Status == nil {
		return
	}
	if r.state.Parent == nil {
		r.fail(e.Status.at, "status: the parent does not exist any more")
		return
	}
	for _, d := range differences("status", e.Status.want, r.state.Parent.Object["status"], false) {
		r.fail(e.Status.at, "%s%s", d.message(r.shown), r.whyStatus(d.path))
	}
}

// whyStatus says why a field of the status has no value, if the evaluation says so.
func (r *runner) whyStatus(path string) string {
	if r.state.Preview == nil {
		return ""
	}
	for _, waits := range r.state.Preview.Result.StatusWaiting {
		if strings.HasPrefix(waits, path) {
			return "; it waits: " + waits
		}
	}
	for _, failed := range r.state.Preview.Result.StatusFailed {
		if strings.HasPrefix(failed.Path, path) {
			return "; it fails: " + failed.Text()
		}
	}
	return ""
}

func (r *runner) whyFinalizing() string {
	if r.state.Preview == nil || r.state.Preview.Result.Finalization.Waits == "" {
		return ""
	}
	return "; finalize waits: " + r.state.Preview.Result.Finalization.Waits
}

func (r *runner) compareConditions(want map[string]expected[any]) {
	for _, name := range slices.Sorted(maps.Keys(want)) {
		wanted := want[name]
		var got map[string]any
		if r.state.Parent != nil {
			got = conditions.Find(r.state.Parent, name)
		}
		fields, isMap := wanted.want.(map[string]any)
		switch {
		case wanted.want == nil && got == nil:
		case wanted.want == nil:
			r.fail(wanted.at, "condition %s: want none, got %s", name, conditionText(got))
		case got == nil:
			r.fail(wanted.at, "condition %s does not exist", name)
		case !isMap:
			if fmt.Sprint(got["status"]) != fmt.Sprint(wanted.want) {
				r.fail(wanted.at, "condition %s: want %v, got %s", name, wanted.want, conditionText(got))
			}
		default:
			for field, value := range fields {
				text, _ := got[field].(string)
				part := fmt.Sprint(value)
				if text != part && (field != "message" || !strings.Contains(text, part)) {
					r.fail(wanted.at, "condition %s.%s: want %q, got %s", name, field, part, conditionText(got))
				}
			}
		}
	}
}

func conditionText(c map[string]any) string {
	return fmt.Sprintf("%v, %v: %v", c["status"], c["reason"], c["message"])
}

// outcome is the outcome of a child or a patch.
type outcome struct {
	what  string
	state program.State
	text  string
}

// outcomes are the outcomes of all children and patches, by id.
func (r *runner) outcomes() map[string]outcome {
	all := map[string]outcome{}
	if r.state.Preview == nil {
		return all
	}
	at := func(path, text string) string {
		if path == "" {
			return text
		}
		return path + ": " + text
	}
	for _, node := range r.state.Preview.Nodes {
		o := outcome{"child " + node.ID, node.State, at(node.Path, node.Text())}
		for _, refused := range node.Refused {
			if o.state, o.text = program.StateWaiting, refused.Err.Error(); refused.IsFinal() {
				o.state = program.StateFailed
				break
			}
		}
		all[node.ID] = o
	}
	for _, patch := range r.state.Preview.Result.Patches {
		all[patch.ID] = outcome{"patch " + patch.ID, patch.State, at(patch.Path, patch.Text())}
	}
	return all
}

// compareNodes checks which nodes wait, fail and are skipped. An unexpected failure of a node is reported.
func (r *runner) compareNodes(e *Expect) {
	all := r.outcomes()
	expectState := func(wanted expected[string], id string, state program.State, verb string) {
		got, ok := all[id]
		switch {
		case !ok:
			r.fail(wanted.at, "the rule has no child or patch %s%s", id, orNearest(id, slices.Sorted(maps.Keys(all))))
		case got.state != state:
			r.fail(wanted.at, "%s: want that it %s, and it %s%s", got.what, verb, stateText(got), adviceOn(state, got.state))
		case state != program.StateSkipped && !strings.Contains(got.text, wanted.want):
			r.fail(wanted.at, "%s: want %q, got %q", got.what, wanted.want, got.text)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(e.Waiting)) {
		expectState(e.Waiting[id], id, program.StateWaiting, "waits")
	}
	for _, id := range slices.Sorted(maps.Keys(e.Failing)) {
		if id != "status" {
			expectState(e.Failing[id], id, program.StateFailed, "fails")
		}
	}
	for _, skipped := range e.Skipped {
		expectState(skipped, skipped.want, program.StateSkipped, "is skipped")
	}
	for _, id := range slices.Sorted(maps.Keys(all)) {
		if _, known := e.Failing[id]; all[id].state == program.StateFailed && !known {
			r.fail(r.step.at, "%s fails: %s", all[id].what, all[id].text)
		}
	}
	if p := r.state.Preview; p != nil && p.Unmatched != "" && p.Failed() {
		r.fail(r.step.at, "%s", p.Unmatched)
	}
	r.compareStatusFailures(e)
}

func (r *runner) compareStatusFailures(e *Expect) {
	var texts []string
	if r.state.Preview != nil {
		for _, failed := range r.state.Preview.Result.StatusFailed {
			texts = append(texts, failed.Path+": "+failed.Text())
		}
		if refused := r.state.Preview.StatusRefused; refused != nil {
			texts = append(texts, "status: "+refused.Error())
		}
	}
	text := strings.Join(texts, "\n")
	wanted, known := e.Failing["status"]
	switch {
	case known && !strings.Contains(text, wanted.want), known && text == "":
		r.fail(wanted.at, "status: want that %q fails, got %q", wanted.want, text)
	case !known && text != "":
		r.fail(r.step.at, "%s", text)
	}
}

// adviceOn says what to expect instead, for a message: a child is applied even if its object has failed.
func adviceOn(want, got program.State) string {
	if want == program.StateFailed && got == program.StateApplied {
		return "; that its object has failed is in the conditions: Stalled, with the reason ChildFailed"
	}
	return ""
}

func stateText(o outcome) string {
	switch o.state {
	case program.StateApplied:
		return "is applied"
	case program.StateSkipped:
		return "is skipped"
	case program.StateWaiting:
		return "waits: " + o.text
	default:
		return "fails: " + o.text
	}
}

// whyNot says why a child has no object, for a message.
func (r *runner) whyNot(id string) string {
	o, ok := r.outcomes()[id]
	if !ok && r.state.Preview != nil && r.state.Preview.Unmatched != "" {
		return ": nothing is created: " + r.state.Preview.Unmatched
	}
	if !ok || o.state == program.StateApplied {
		return ""
	}
	return ": it " + stateText(o)
}

func (r *runner) compareWords(what string, want *expected[[]string], in func(*state) []string) {
	if want == nil {
		return
	}
	if got := in(r.state); !slices.Equal(want.want, got) {
		r.fail(want.at, "%s: want %s, got %s%s", what, listed(want.want), listed(got), r.whenElse(want.want, got, in))
	}
}

// whenElse says which missing words the step before has, for a message. Often that is the case itself, whose fields are
// its first step.
func (r *runner) whenElse(want, got []string, in func(*state) []string) string {
	if r.before == nil {
		return ""
	}
	earlier := slices.DeleteFunc(in(r.before), func(word string) bool {
		return !slices.Contains(want, word) || slices.Contains(got, word)
	})
	switch {
	case len(earlier) == 0:
		return ""
	case r.step == &r.c.Steps[1]:
		return "; the case itself, which is the first step, has " + strings.Join(earlier, ", ") + ": expect that there"
	}
	return "; the step before has " + strings.Join(earlier, ", ")
}

// named replaces words that name an item of a child, such as job[1], by KIND/NAME in a state.
func (r *runner) named(want *expected[[]string], in *state) *expected[[]string] {
	if want == nil || in == nil {
		return want
	}
	words := slices.Clone(want.want)
	for i, word := range words {
		node, index, ok := parseItem(word)
		if !ok {
			continue
		}
		items, _ := in.items(node)
		if at := slices.IndexFunc(items, func(item item) bool { return item.index == index }); at >= 0 {
			words[i] = items[at].object.GetKind() + "/" + items[at].object.GetName()
		}
	}
	return &expected[[]string]{words, want.at}
}

func eventReasons(s *state) []string {
	var reasons []string
	for _, e := range s.Events {
		reasons = append(reasons, e.Reason)
	}
	return reasons
}

func objectNames(ids []identity.ID) []string {
	var names []string
	for _, id := range ids {
		names = append(names, id.Kind+"/"+id.Name)
	}
	return names
}

func namesOf(objects []*unstructured.Unstructured) string {
	if len(objects) == 0 {
		return ""
	}
	const most = 10
	var names []string
	for _, o := range objects[:min(len(objects), most)] {
		names = append(names, o.GetKind()+"/"+o.GetName())
	}
	if len(objects) > most {
		names = append(names, "…")
	}
	return " (" + strings.Join(names, ", ") + ")"
}

func orNearest(name string, known []string) string {
	if hint := diagnostic.DidYouMean(name, known); hint != "" {
		return ": " + hint
	}
	return ""
}

func (r *runner) childIDs() []string {
	var ids []string
	for _, child := range r.program.Children {
		ids = append(ids, child.ID)
	}
	return ids
}

// compareOutput compares the output of kanon render, or records it for the update of the file.
func (r *runner) compareOutput(e *Expect) {
	if e.Output == nil {
		return
	}
	var text strings.Builder
	if r.state.Preview == nil {
		text.WriteString("# the parent does not exist any more\n")
	} else if err := r.state.Preview.Write(&text); err != nil {
		r.fail(e.Output.at, "%s", err)
		return
	}
	got := text.String()
	if got == e.Output.want {
		return
	}
	if r.update {
		r.outputs = append(r.outputs, rewrite{key: e.outputKey, text: got})
		return
	}
	r.fail(e.Output.at, "the output is not as it is wanted")
	r.failures[len(r.failures)-1].Diff = manifests.UnifiedDiff("want", []byte(e.Output.want), "got", []byte(got))
}
