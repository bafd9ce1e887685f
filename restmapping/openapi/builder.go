package openapi

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"unique"
	"weak"

	"k8s.io/kube-openapi/pkg/validation/spec"
)

const (
	// objectMeta is the component for the metadata of objects.
	objectMeta = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
	// quantity is the component of a resource.Quantity.
	quantity = "io.k8s.apimachinery.pkg.api.resource.Quantity"
	// nativePrefix is the prefix of components that Kubernetes generates from Go types.
	nativePrefix = "io.k8s."
)

type builder struct {
	components map[string]*spec.Schema
	pool       *Pool
	// parts and made are by component.
	parts map[string]part
	made  map[string]*Schema
	// shapes and fields deduplicate equal schemas and fields.
	shapes map[shape]*Schema
	fields map[Field]*Field
	// fresh has the new objects' schemas, by name. They enter the pool once all are complete: one may refer to another
	// that is still incomplete.
	fresh map[string]*Schema
}

type place struct {
	// name is the name of the enclosing object; a schema inside is named after it.
	name string
	// mark distinguishes schemas with the same name and different content.
	mark string
	// native is true for schemas that Kubernetes generates from Go types.
	native bool
}

func (p place) below(field string) place {
	p.name += "." + field
	return p
}

func (p place) String() string { return p.name + p.mark }

func newBuilder(components map[string]*spec.Schema, pool *Pool) *builder {
	return &builder{
		components: components, pool: pool,
		parts: map[string]part{}, made: map[string]*Schema{},
		shapes: map[shape]*Schema{}, fields: map[Field]*Field{}, fresh: map[string]*Schema{},
	}
}

func (b *builder) named(name string) *Schema {
	if made := b.fresh[name]; made != nil {
		return made
	}
	return b.pool.get(name)
}

func (b *builder) keep(s *Schema) { b.fresh[s.Name] = s }

func (b *builder) component(name string) *Schema {
	for range len(b.components) { // a component may be an alias of another one
		s := b.components[name]
		if s == nil || refersTo(s) == "" {
			break
		}
		name = refersTo(s)
	}
	if made := b.made[name]; made != nil {
		return made
	}
	s := b.components[name]
	switch {
	case s == nil, refersTo(s) != "":
		return b.simple(Schema{})
	case name == quantity:
		return b.simple(Schema{Type: IntOrString, Format: FormatQuantity})
	case typeOf(s) == Object && len(s.Properties) == 0 && !isEmbedded(s):
		// A Go type with its own encoding, such as RawExtension or FieldsV1.
		return b.simple(Schema{})
	}
	p := place{name: name, mark: b.mark(name), native: isNative(name)}
	if typeOf(s) != Object {
		made := &Schema{}
		b.made[name] = made // it may refer to itself
		*made = *b.schema(s, p)
		return made
	}
	if made := b.named(p.String()); made != nil {
		b.made[name] = made
		return made
	}
	made := &Schema{}
	b.made[name] = made // it may refer to itself
	b.object(made, s, p)
	b.keep(made)
	return made
}

// kind makes the schema of whole objects of a kind.
func (b *builder) kind(s *spec.Schema, p place) *Schema {
	if made := b.named(p.String()); made != nil {
		return made
	}
	made := &Schema{}
	b.object(made, s, p)
	text := b.simple(Schema{Type: String})
	made.Fields["apiVersion"] = b.field(Field{Schema: text, Required: true})
	made.Fields["kind"] = b.field(Field{Schema: text, Required: true})
	made.Fields["metadata"] = b.field(Field{Schema: b.metadata(), Defaulted: true})
	if status := made.Fields["status"]; status != nil {
		// The creator of an object does not set the status.
		made.Fields["status"] = b.field(Field{Schema: status.Schema, Defaulted: status.Defaulted})
	}
	if own := made.Fields["spec"]; own != nil && p.native {
		made.Fields["spec"] = b.field(Field{Schema: b.ownSpec(own.Schema, p), Required: own.Required, Defaulted: own.Defaulted, Always: own.Always})
	}
	b.keep(made)
	return made
}

// ownSpec is the spec of whole objects of a kind. The API server sets more fields in it than in templates with the same
// schema.
func (b *builder) ownSpec(plain *Schema, p place) *Schema {
	title := p.name + ".spec"
	if plain.Type != Object || len(alwaysSet()[title]) == 0 {
		return plain
	}
	return b.variant(plain, plain.Name+markSign+title, func(fields map[string]*Field) { // marked with the kind's title
		for field, f := range plain.Fields {
			if isAlwaysSet(title, field) {
				always := *f
				always.Always = true
				fields[field] = b.field(always)
			}
		}
	})
}

// variant is an object's schema with other fields.
func (b *builder) variant(plain *Schema, name string, change func(fields map[string]*Field)) *Schema {
	if made := b.named(name); made != nil {
		return made
	}
	made := *plain
	made.Name, made.Fields = unique.Make(name).Value(), maps.Clone(plain.Fields)
	change(made.Fields)
	b.keep(&made)
	return &made
}

// metadata is the metadata of a whole object, with the fields that the API server sets.
func (b *builder) metadata() *Schema {
	plain := b.component(objectMeta)
	if plain.Type != Object {
		return plain
	}
	return b.variant(plain, "metadata"+plain.Name[len(objectMeta):], func(fields map[string]*Field) {
		for _, filled := range []string{"name", "namespace", "uid", "resourceVersion", "creationTimestamp"} {
			if f := fields[filled]; f != nil {
				fields[filled] = b.field(Field{Schema: f.Schema, Defaulted: true})
			}
		}
	})
}

func (b *builder) schema(s *spec.Schema, p place) *Schema {
	if ref := refersTo(s); ref != "" {
		return b.varied(b.component(ref), s)
	}
	switch t := typeOf(s); t {
	case Object:
		if p.native && len(s.Properties) == 0 {
			return b.simple(Schema{}) // a map of anything
		}
		made := &Schema{}
		b.object(made, s, p)
		return made
	case Map:
		return b.simple(Schema{Type: t, Nullable: s.Nullable, Atomic: isAtomic(s), Items: b.items(s.AdditionalProperties.Schema, p)})
	case List:
		made := Schema{Type: t, Nullable: s.Nullable, Items: b.items(itemsOf(s), p), Set: isWord(s, "list-type", "set")}
		if isWord(s, "list-type", "map") {
			made.Keys, _ = s.Extensions.GetStringSlice("x-kubernetes-list-map-keys")
			made.KeyDefaults = b.keyDefaults(itemsOf(s), made.Keys)
		}
		return b.simple(made)
	default:
		made := Schema{Type: t, Nullable: s.Nullable, Format: s.Format}
		switch {
		case t == IntOrString && s.Pattern == QuantityPattern:
			made.Format = FormatQuantity
		case t == IntOrString && made.Format == "int-or-string":
			made.Format = ""
		}
		if len(s.Enum) > 0 {
			made.Enum = enumOf(s.Enum)
		}
		return b.simple(made)
	}
}

// varied is a component's schema with what a reference adds: that it is nullable or atomic.
func (b *builder) varied(s *Schema, reference *spec.Schema) *Schema {
	varied, sign := *s, ""
	if reference.Nullable && !s.Nullable {
		varied.Nullable, sign = true, "?"
	}
	if isAtomic(reference) && !s.Atomic && (s.Type == Object || s.Type == Map) {
		varied.Atomic, sign = true, sign+"!"
	}
	switch {
	case sign == "":
		return s
	case s.Type != Object:
		return b.simple(varied)
	}
	varied.Name = unique.Make(s.Name + sign).Value()
	if made := b.named(varied.Name); made != nil {
		return made
	}
	b.keep(&varied)
	return &varied
}

// keyDefaults returns the defaults of a list's keys; nil if no key has one.
func (b *builder) keyDefaults(element *spec.Schema, keys []string) []any {
	for range len(b.components) { // a component may be an alias of another one
		if element == nil || refersTo(element) == "" {
			break
		}
		element = b.components[refersTo(element)]
	}
	values, found := make([]any, len(keys)), false
	for i, key := range keys {
		if element != nil {
			property := element.Properties[key]
			values[i] = scalarDefault(&property)
		}
		found = found || values[i] != nil
	}
	if !found {
		return nil
	}
	return values
}

func (b *builder) items(s *spec.Schema, p place) *Schema {
	if s == nil {
		return nil
	}
	return b.schema(s, place{name: p.name + "[]", mark: p.mark, native: p.native})
}

func (b *builder) object(made *Schema, s *spec.Schema, p place) {
	*made = Schema{
		Name: unique.Make(p.String()).Value(), Type: Object, Nullable: s.Nullable,
		Open: isTrue(s, "preserve-unknown-fields") || allowsOthers(s), Atomic: isAtomic(s),
		Fields: make(map[string]*Field, len(s.Properties)),
	}
	for name, property := range s.Properties {
		f := Field{Schema: b.schema(&property, p.below(name)), Required: slices.Contains(s.Required, name), Immutable: isImmutable(&property)}
		if property.Default != nil {
			// A zero value of Go is no default of a required field.
			f.Defaulted = !p.native || !f.Required || !isZero(property.Default) || takesNone(p.name+"."+name)
		}
		f.Required = f.Required && !f.Defaulted && !takesNone(p.name+"."+name)
		f.Always = p.native && isAlwaysSet(p.name, name)
		made.Fields[unique.Make(name).Value()] = b.field(f)
	}
	if isEmbedded(s) {
		text := b.simple(Schema{Type: String})
		made.Fields["apiVersion"] = b.field(Field{Schema: text, Required: true})
		made.Fields["kind"] = b.field(Field{Schema: text, Required: true})
		made.Fields["metadata"] = b.field(Field{Schema: b.component(objectMeta)})
	}
}

func isNative(component string) bool { return strings.HasPrefix(component, nativePrefix) }

// isZero reports whether a default is the zero value of a Go type. The API server cannot distinguish it from a missing
// value, and refuses it in most required fields. It accepts false.
func isZero(value any) bool {
	switch v := value.(type) {
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	}
	return value == "" || value == 0.0
}

// takesNone reports whether the API server accepts objects without the field, although the documents of Kubernetes
// require it. Dry runs show that.
func takesNone(field string) bool {
	switch strings.TrimPrefix(field, "io.k8s.api.") {
	case "core.v1.HTTPHeader.value", "core.v1.Sysctl.value", "core.v1.SleepAction.seconds",
		"core.v1.ISCSIVolumeSource.lun", "core.v1.ISCSIPersistentVolumeSource.lun",
		"core.v1.PreferredSchedulingTerm.preference", "core.v1.LimitRangeSpec.limits",
		"apps/v1.ControllerRevision.revision",
		"storage.k8s.io/v1.CSIDriver.spec", "storage.v1.CSINodeSpec.drivers",
		"resource.k8s.io/v1.DeviceClass.spec", "resource.k8s.io/v1.ResourceClaim.spec":
		return true
	}
	return false
}

func enumOf(values []any) []any {
	enum := make([]any, 0, len(values))
	for _, value := range values {
		enum = append(enum, scalar(value))
	}
	return enum
}

func scalar(value any) any {
	switch v := value.(type) {
	case float64:
		if v == math.Trunc(v) && math.Abs(v) < 1<<53 {
			return int64(v)
		}
	case string:
		return unique.Make(v).Value()
	}
	return value
}

// mark distinguishes a component from others with its name: it has the first digits of a hash of everything that the
// component consists of.
func (b *builder) mark(name string) string {
	reached := map[string]bool{}
	var reach func(name string)
	reach = func(name string) {
		if b.components[name] == nil || reached[name] {
			return
		}
		reached[name] = true
		for _, ref := range b.part(name).refs {
			reach(ref)
		}
	}
	reach(name)
	hash := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(reached)) {
		sum := b.part(name).sum
		hash.Write([]byte(name))
		hash.Write(sum[:]) // of a fixed length, so that the hash is unambiguous
	}
	return markOf(hash.Sum(nil))
}

type part struct {
	// sum is the hash of the component without those that it refers to.
	sum  [sha256.Size]byte
	refs []string
}

func (b *builder) part(name string) part {
	p, ok := b.parts[name]
	if ok {
		return p
	}
	p.sum = sumOf(b.components[name])
	var walk func(s *spec.Schema)
	walk = func(s *spec.Schema) {
		if component, ok := strings.CutPrefix(s.Ref.String(), componentPrefix); ok {
			p.refs = append(p.refs, component)
		}
		if isEmbedded(s) {
			p.refs = append(p.refs, objectMeta)
		}
		children(s, walk)
	}
	walk(b.components[name])
	b.parts[name] = p
	return p
}

func sumOf(s *spec.Schema) [sha256.Size]byte {
	text, err := json.Marshal(s)
	if err != nil { // cannot happen: it was read from JSON
		text = []byte(err.Error())
	}
	return sha256.Sum256(text)
}

func markOf(sum []byte) string { return markSign + hex.EncodeToString(sum[:4]) }

// Pool shares schemas: if several documents describe an object in the same way, it has one schema. The pool keeps no
// schema alive. The zero value is empty and ready to use. A Pool is safe for concurrent use.
type Pool struct {
	mu sync.Mutex
	// byName has the objects' schemas. A name stands for one content. Guarded by mu.
	byName map[string]weak.Pointer[Schema]
}

// get returns the schema of a name; nil if it is no longer in use.
func (p *Pool) get(name string) *Schema {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.byName[name].Value()
}

// put adds complete schemas by name, and drops names that are no longer in use.
func (p *Pool) put(fresh map[string]*Schema) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.byName == nil {
		p.byName = make(map[string]weak.Pointer[Schema])
	}
	maps.DeleteFunc(p.byName, func(_ string, s weak.Pointer[Schema]) bool { return s.Value() == nil })
	for name, s := range fresh {
		p.byName[name] = weak.Make(s)
	}
}

// shape is the content of a schema without fields, as a map key.
type shape struct {
	typ      Type
	format   string
	items    *Schema
	nullable bool
	keys     string
	set      bool
	atomic   bool
	enum     string
}

// simple returns the shared schema that is equal to s, which has no fields.
func (b *builder) simple(s Schema) *Schema {
	key := shape{typ: s.Type, format: s.Format, items: s.Items, nullable: s.Nullable, set: s.Set, atomic: s.Atomic}
	if len(s.Keys) > 0 {
		key.keys = fmt.Sprintf("%q %#v", s.Keys, s.KeyDefaults)
	}
	if len(s.Enum) > 0 {
		key.enum = fmt.Sprintf("%#v", s.Enum)
	}
	made := b.shapes[key]
	if made == nil {
		made = &s
		b.shapes[key] = made
	}
	return made
}

// field returns the shared field that is equal to f.
func (b *builder) field(f Field) *Field {
	made := b.fields[f]
	if made == nil {
		made = &f
		b.fields[f] = made
	}
	return made
}
