package syntax

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"

	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/language"
	"kanon.dev/kanon/rules/yamltree"
)

// The types of this package are filled by the table of fields in package language. In the struct for a mapping, the tag
// of a Go field names the field of the mapping that it has, and what the value must be beyond its type in the table:
//
//	ID   string              `rule:"id,identifier"`
//	Pos  diagnostic.Position `rule:"id"` // of the value; that of the mapping if the value is missing
//	Node *yamltree.Node      `rule:""`   // the mapping itself
//
// Fields with the names Gaps and Index are filled without a tag.

// slot is a Go field that is filled.
type slot struct {
	reflect.Value
	check string
}

// value is the value of a field of the language.
type value struct {
	*yamltree.Node
	path string
	typ  *language.Type
	// before is the number of findings when the value was begun.
	before int
}

// completer is a struct with more to decode after its fields are filled.
type completer interface {
	complete(d *decoder, n *yamltree.Node, path string)
}

// fill decodes a mapping into a struct.
func (d *decoder) fill(n *yamltree.Node, path string, fields language.Fields, into any) {
	of := reflect.ValueOf(into).Elem()
	slots := map[string][]slot{}
	d.slots(of, n, slots)
	gaps := d.object(n, path, fields, func(f *language.Field, n *yamltree.Node) {
		if slots[f.Name] == nil {
			panic(fmt.Sprintf("no field of %s has the tag %s", of.Type(), f.Name))
		}
		v := value{n, below(path, f.Name), &f.Type, len(d.findings)}
		for _, s := range slots[f.Name] {
			d.put(v, s)
		}
	})
	if has := of.FieldByName("Gaps"); has.IsValid() {
		has.Set(reflect.ValueOf(gaps))
	}
	if c, ok := into.(completer); ok {
		c.complete(d, n, path)
	}
}

// slots finds the tagged fields of a struct, and fills those that have the mapping itself.
func (d *decoder) slots(of reflect.Value, n *yamltree.Node, found map[string][]slot) {
	for i := range of.NumField() {
		field := of.Type().Field(i)
		tag, tagged := field.Tag.Lookup("rule")
		name, check, _ := strings.Cut(tag, ",")
		switch {
		case field.Anonymous && !tagged:
			d.slots(of.Field(i), n, found)
		case name != "":
			found[name] = append(found[name], slot{of.Field(i), check})
		case tagged:
			of.Field(i).Set(reflect.ValueOf(n))
		}
		if tagged && field.Type == reflect.TypeFor[diagnostic.Position]() && of.Field(i).IsZero() {
			of.Field(i).Set(reflect.ValueOf(d.src.At(n)))
		}
	}
}

func below(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// put fills a slot with a value. After a finding it stays empty, except for names.
func (d *decoder) put(v value, s slot) {
	isPair := v.Kind == yamltree.Mapping && !v.Has("name") && !v.Has("in") && v.typ.Or != nil
	if s.check == "dimensions" && isPair || s.check == "sameAs" && !isPair {
		return
	}
	switch into := s.Addr().Interface().(type) {
	case *diagnostic.Position:
		*into = d.src.At(v.Node)
	case interface {
		decode(d *decoder, v value, check string)
	}:
		into.decode(d, v, s.check)
	case **yamltree.Node:
		if s.check == "computed" && !IsExpressionText(v.Node) || len(d.findings) > v.before {
			return
		}
		if d.typed(v); len(d.findings) == v.before && d.constant(v, s.check) {
			*into = v.Node
		}
	case *labels.Selector:
		*into = d.selector(v)
	case *map[string]string:
		d.typed(v)
		*into = v.texts()
	default:
		d.putPlain(v, s)
	}
}

func (d *decoder) putPlain(v value, s slot) {
	switch s.Kind() {
	case reflect.Pointer:
		s.Set(reflect.New(s.Type().Elem()))
		d.put(v, slot{s.Elem(), s.check})
		return
	case reflect.Struct:
		d.fill(v.Node, v.path, v.typ.Fields, s.Addr().Interface())
		return
	case reflect.Slice:
		d.items(v, s)
		return
	}
	if d.typed(v); len(d.findings) > v.before {
		return
	}
	switch is := v.Value.(type) {
	case string:
		if d.text(v, is, s.check) {
			s.SetString(is)
		}
	case bool:
		s.SetBool(is)
	case int64:
		s.SetInt(min(is, math.MaxInt32))
	}
}

func (d *decoder) items(v value, s slot) {
	for i, item := range d.list(v.Node, v.path) {
		s.Set(reflect.Append(s.Value, reflect.Zero(s.Type().Elem())))
		at := s.Index(i)
		if at.Kind() == reflect.Struct && at.FieldByName("Index").IsValid() {
			at.FieldByName("Index").SetInt(int64(i))
		}
		d.put(value{item, fmt.Sprintf("%s[%d]", v.path, i), v.typ.Items, len(d.findings)}, slot{at, s.check})
	}
	if s.check == "dimensions" && v.Kind == yamltree.Sequence && len(v.Items) == 0 && len(v.Lost) == 0 {
		d.report(v.Node, diagnostic.CodeEmpty, "%s is empty", v.path)
	}
}

// unique reports names that several items of a list have.
func unique[T any](d *decoder, what, field string, items []T, of func(*T) (string, diagnostic.Position)) {
	first := map[string]diagnostic.Position{}
	for i := range items {
		name, at := of(&items[i])
		if other, twice := first[name]; twice && name != "" {
			d.findings.Report(at, diagnostic.CodeNameTwice, "two %s are called %q", what, name).About(true).
				WithRelated(other, "the first one").WithHint("choose another %s", field)
			continue
		}
		first[name] = at
	}
}

// typed checks a value against its type in the table of fields.
func (d *decoder) typed(v value) {
	text, isText := v.Text()
	computed := isText && yamltree.HasExpression(text)
	forms := v.typ.Forms()
	if computed && slices.ContainsFunc(forms, func(t *language.Type) bool { return t.Form == language.Text && t.Expressions != language.None }) {
		return
	}
	form := forms[0]
	if at := slices.IndexFunc(forms, v.fits); at >= 0 {
		form = forms[at]
	}
	switch form.Form {
	case language.Anything, language.ShortSchema:
	case language.Boolean:
		if _, ok := v.Value.(bool); !ok {
			d.report(v.Node, diagnostic.CodeFieldType, "%s must be true or false, and is %s", v.path, v.What())
		}
	case language.Number:
		d.number(v, form)
	case language.Object, language.Texts:
		if v.Kind != yamltree.Mapping {
			d.report(v.Node, diagnostic.CodeFieldType, "%s must be a mapping, and is %s", v.path, v.What())
		}
		for _, f := range v.Fields {
			if form.Form == language.Texts {
				d.anyText(f.Value, v.path+"."+f.Name, form.Expressions)
			}
		}
	case language.Mapping:
		d.object(v.Node, v.path, form.Fields, func(f *language.Field, n *yamltree.Node) {
			d.typed(value{n, below(v.path, f.Name), &f.Type, 0})
		})
	case language.List:
		if v.Kind == yamltree.Scalar && form.Items.Form == language.Anything {
			d.report(v.Node, diagnostic.CodeNotExpression, "%s must be an expression that gives a list or a map, or a list, and is %s", v.path, v.What())
			return
		}
		for i, item := range d.list(v.Node, v.path) {
			d.typed(value{item, fmt.Sprintf("%s[%d]", v.path, i), form.Items, 0})
		}
	default:
		d.scalar(v, form)
	}
}

// number checks a whole number.
func (d *decoder) number(v value, form *language.Type) {
	if number, ok := v.Value.(int64); ok && number >= int64(form.Least) {
		return
	}
	is := v.Shown()
	if text, ok := v.Text(); ok {
		is = strconv.Quote(text)
	}
	d.report(v.Node, diagnostic.CodeFieldType, "%s must be a whole number from %d on, and is %s", v.path, form.Least, is)
}

// fits reports whether a form of a type is meant by the kind of the value.
func (v value) fits(t *language.Type) bool {
	switch t.Form {
	case language.Anything:
		return true
	case language.List:
		return v.Kind == yamltree.Sequence
	case language.Mapping, language.Object, language.Texts, language.ShortSchema:
		return v.Kind == yamltree.Mapping
	}
	_, isBool := v.Value.(bool)
	return v.Kind == yamltree.Scalar && isBool == (t.Form == language.Boolean) && t.Expressions != language.Required
}

func (v value) texts() map[string]string {
	all := make(map[string]string, len(v.Fields))
	for _, f := range v.Fields {
		all[f.Name], _ = f.Value.Text()
	}
	return all
}

func (d *decoder) scalar(v value, t *language.Type) {
	text, _ := v.Text()
	switch {
	case t.Expressions == language.Required:
		d.notExpression(v.Node, v.path)
		return
	case len(t.Words) == 0 && (t.Expressions != language.None || strings.Contains(v.path, ".values[")):
		d.anyText(v.Node, v.path, t.Expressions)
		return
	case t.Expressions == language.None:
		plain, ok := d.plainString(v.Node, v.path)
		if !ok || len(t.Words) == 0 {
			return
		}
		text = plain
	}
	if slices.Contains(t.Words, text) {
		return
	}
	code, last := diagnostic.CodeNotOneOf, len(t.Words)-1
	if strings.HasSuffix(v.path, ".operator") {
		code = diagnostic.CodeSelector
	}
	words := strings.Join(t.Words[:last], ", ") + " or " + t.Words[last]
	if t.Expressions != language.None {
		words += ", or an expression that gives one of these"
	}
	d.report(v.Node, code, "%s must be %s, and is %s", v.path, words, shown(v.Node)).Suggest(text, t.Words)
}

// selector decodes a label selector without expressions. An empty one matches everything. It is nil after a finding, and
// for a selector with expressions.
func (d *decoder) selector(v value) labels.Selector {
	if v.typ.Or != nil && v.Expressions > 0 {
		return nil
	}
	if d.typed(v); len(d.findings) > v.before {
		return nil
	}
	plain, _ := v.Plain().(map[string]any)
	var spec metav1.LabelSelector
	err := runtime.DefaultUnstructuredConverter.FromUnstructured(plain, &spec)
	var selector labels.Selector
	if err == nil {
		selector, err = metav1.LabelSelectorAsSelector(&spec)
	}
	if err != nil {
		d.report(v.Node, diagnostic.CodeSelector, "%s: %s", v.path, err.Error())
		return nil
	}
	return selector
}

// constant checks text that may have expressions, if it has none.
func (d *decoder) constant(v value, check string) bool {
	text, _ := v.Text()
	if check == "" || yamltree.HasExpression(text) {
		return true
	}
	wrong := ""
	switch {
	case check == "reason" || check == "eventReason":
		longest := map[string]int{"reason": MaxConditionReason, "eventReason": MaxEventReason}[check]
		if wrong = WrongReason(text, longest); wrong == "" {
			return true
		}
		f := d.report(v.Node, diagnostic.CodeReason, "%s %s, and is %q", v.path, wrong, text)
		f.WithHint(`write a word such as "Available"`)
		if name := CamelCase(text); name != "" {
			f.WithHint("write %q", name)
			f.WithEdit(f.Position, text, name)
		}
	case text == "":
		d.report(v.Node, diagnostic.CodeEmpty, "%s is empty", v.path)
	case check == "namespace" && text != AllNamespaces && len(validation.IsDNS1123Label(text)) > 0, check == "objectName" && len(IsPathSegment(text)) > 0:
		d.report(v.Node, diagnostic.CodeObjectName, "%s: %q is not a name that Kubernetes accepts", v.path, text)
	default:
		return true
	}
	return false
}

// text checks text without expressions. It returns false if the text is of no use.
func (d *decoder) text(v value, text, check string) bool {
	switch check {
	case "subdomain", "label":
		if check == "label" && len(validation.IsDNS1123Label(text)) > 0 || len(validation.IsDNS1123Subdomain(text)) > 0 {
			d.report(v.Node, diagnostic.CodeObjectName, "%s: %q is not a name that Kubernetes accepts", v.path, text).
				WithHint("write lower case letters, digits and -, with a letter or digit at both ends")
		}
	case "identifier", "item":
		return d.identifier(v, text, check == "item")
	case "patchID":
		if strings.Contains(text, ".") || len(validation.IsValidLabelValue(text)) > 0 {
			d.report(v.Node, diagnostic.CodePatchID, "%s: %q cannot be the id of a patch: it is made of letters, digits, - and _, at most 63, with a letter or digit at both ends", v.path, text)
			return false
		}
	case "conditionType":
		if len(validation.IsQualifiedName(text)) > 0 {
			d.report(v.Node, diagnostic.CodeConditionType, "%s: %q is not a type that conditions can have", v.path, text).
				WithHint("write letters and digits, as in %s", "DatabaseReady")
			return false
		}
	case "conditionPrefix":
		if len(validation.IsQualifiedName(text+"Ready")) > 0 || strings.Contains(text, "/") {
			d.report(v.Node, diagnostic.CodeConditionPrefix, "%s must be letters and digits that can come before Ready, such as Web", v.path)
		}
	}
	return true
}

// identifier checks a name that expressions use behind a dot; that of an item stands alone.
func (d *decoder) identifier(v value, name string, alone bool) bool {
	other := fmt.Sprintf("write another name, such as %q, here and in the expressions", OtherName(name))
	switch {
	case !IsIdentifier(name):
		f := d.report(v.Node, diagnostic.CodeUnusableName, "%s: %q cannot be used in expressions: a name is made of letters, digits and _ and does not start with a digit", v.path, name)
		if name := CamelCase(name); name != "" {
			f.WithHint("write %q", name)
		}
		return false
	case IsCELValue(name):
		d.report(v.Node, diagnostic.CodeReservedName, "%s: %q is a word of CEL", v.path, name).WithHint("choose another name")
		return false
	case alone && IsCELWord(name):
		d.report(v.Node, diagnostic.CodeReservedName, "%s: %q is a word of CEL", v.path, name).WithHint("%s", other)
	case alone && IsReserved(name):
		d.report(v.Node, diagnostic.CodeReservedName, "%s: %q is the name of something else in expressions", v.path, name).WithHint("%s", other)
	}
	return true
}
