package celenv

import (
	"errors"
	"fmt"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/interpreter"
)

// ErrAbsent marks the error of a Members value for an absent member: has() is then false, and ?. gives optional.none().
var ErrAbsent = errors.New("absent")

// Members is a value whose members are computed when they are read, such as the variables of a rule. Its members can be
// read; the value itself cannot be used.
type Members interface {
	// Member returns the value of a member, and false if there is none now. Errors are passed on unchanged.
	Member(name string) (any, bool, error)
}

// Null is the value of a member of a Members value that is null for a read, but absent for has() and ?..
type Null struct{}

// factory makes the attributes of expressions: names with the fields and indices that are read from them. Unlike
// cel-go's, its errors for missing keys are ReadErrors.
type factory struct {
	interpreter.AttributeFactory
	// branch is Options.Branch.
	branch func(id int64, holds bool)
	// conversions has the reads whose values are converted, by node.
	conversions map[int64]Conversion
}

// ConditionalAttribute makes the value of ?: as a path.
func (f *factory) ConditionalAttribute(id int64, condition interpreter.Interpretable, yes, no interpreter.Attribute) interpreter.Attribute {
	if planned, ok := condition.(interpreter.InterpretableV2); ok && f.branch != nil {
		condition = &node{planned, func(frame *interpreter.ExecutionFrame) ref.Val {
			val := planned.Exec(frame)
			if holds, ok := val.(types.Bool); ok {
				f.branch(id, bool(holds))
			}
			return val
		}}
	}
	return f.AttributeFactory.ConditionalAttribute(id, condition, yes, no)
}

// NewQualifier makes one step of a path.
func (f *factory) NewQualifier(objType *types.Type, id int64, val any, opt bool) (interpreter.Qualifier, error) {
	step, err := f.step(objType, id, val, opt)
	if c, ok := f.conversions[id]; ok && err == nil {
		return &convertedStep{Qualifier: step, conversion: c}, nil
	}
	return step, err
}

func (f *factory) step(objType *types.Type, id int64, val any, opt bool) (interpreter.Qualifier, error) {
	switch v := val.(type) {
	case string:
		return &constKey{key: newKey(id, types.String(v)), optional: opt}, nil
	case types.String, types.Int, types.Uint, types.Double, types.Bool:
		return &constKey{key: newKey(id, v.(ref.Val)), optional: opt}, nil
	case interpreter.Attribute:
		return &dynamicKey{attr: v, id: id, optional: opt}, nil
	}
	return f.AttributeFactory.NewQualifier(objType, id, val, opt)
}

// RelativeAttribute makes a path that starts at the value of an expression. It is also the index in a[f(x)].
func (f *factory) RelativeAttribute(id int64, operand interpreter.Interpretable) interpreter.Attribute {
	out := &relative{Attribute: f.AttributeFactory.RelativeAttribute(id, operand)}
	out.index = &dynamicKey{attr: out.Attribute, id: id}
	if c, ok := f.conversions[id]; ok {
		out.index = &convertedStep{Qualifier: out.index, conversion: c}
	}
	return out
}

// relative is cel-go's relative attribute, which as an index reads as factory's other steps do.
type relative struct {
	interpreter.Attribute
	index interpreter.Qualifier
}

func (r *relative) AddQualifier(q interpreter.Qualifier) (interpreter.Attribute, error) {
	if _, err := r.Attribute.AddQualifier(q); err != nil {
		return nil, err
	}
	return r, nil
}

func (r *relative) Qualify(vars interpreter.Activation, obj any) (any, error) {
	return r.index.Qualify(vars, obj) //nolint:wrapcheck // The error says what was read.
}

func (r *relative) QualifyIfPresent(vars interpreter.Activation, obj any, presenceOnly bool) (any, bool, error) {
	return r.index.QualifyIfPresent(vars, obj, presenceOnly) //nolint:wrapcheck // As above.
}

// dynamicKey is a step whose key is itself a path: a[b.c].
type dynamicKey struct {
	id       int64
	attr     interpreter.Attribute
	optional bool
}

func (d *dynamicKey) ID() int64        { return d.id }
func (d *dynamicKey) IsOptional() bool { return d.optional }

func (d *dynamicKey) Qualify(vars interpreter.Activation, obj any) (any, error) {
	k, err := resolveKey(d.id, d.attr, vars)
	if err != nil {
		return nil, err
	}
	return k.read(obj)
}

func (d *dynamicKey) QualifyIfPresent(vars interpreter.Activation, obj any, _ bool) (any, bool, error) {
	k, err := resolveKey(d.id, d.attr, vars)
	if err != nil {
		return nil, false, err
	}
	return k.readIfPresent(obj)
}

func resolveKey(id int64, attr interpreter.Attribute, vars interpreter.Activation) (key, error) {
	raw, err := attr.Resolve(vars)
	if err != nil {
		return key{}, err
	}
	val := Adapter{}.NativeToValue(raw)
	if celErr, ok := val.(*types.Err); ok {
		return key{}, celErr
	}
	return newKey(id, val), nil
}

// constKey is a step whose key is a literal.
type constKey struct {
	key
	optional bool
}

func (c *constKey) ID() int64        { return c.id }
func (c *constKey) IsOptional() bool { return c.optional }
func (c *constKey) Value() ref.Val   { return c.val }

func (c *constKey) Qualify(_ interpreter.Activation, obj any) (any, error) {
	return c.read(obj)
}

func (c *constKey) QualifyIfPresent(_ interpreter.Activation, obj any, _ bool) (any, bool, error) {
	return c.readIfPresent(obj)
}

// key reads one field or index.
type key struct {
	id     int64
	val    ref.Val
	text   string // set if the key is text
	isText bool
}

func newKey(id int64, val ref.Val) key {
	text, isText := val.(types.String)
	return key{id: id, val: val, text: string(text), isText: isText}
}

// read reads the key from obj.
func (k *key) read(obj any) (any, error) {
	if fields, ok := obj.(map[string]any); ok && k.isText {
		if val, ok := fields[k.text]; ok {
			return val, nil
		}
		return nil, k.fail(ReasonMissing, obj)
	}
	val, present, err := k.lookup(obj)
	if err != nil {
		return nil, err
	}
	if !present {
		return nil, k.fail(ReasonMissing, obj)
	}
	if _, isNothing := val.(Null); isNothing {
		return nil, nil
	}
	return val, nil
}

// readIfPresent reads the key from obj. As in CEL, it is no error if the key does not exist, or obj cannot have keys.
func (k *key) readIfPresent(obj any) (any, bool, error) {
	val, present, err := k.lookup(obj)
	var missed *ReadError
	if errors.As(err, &missed) || errors.Is(err, ErrAbsent) {
		return nil, false, nil
	}
	if _, isNothing := val.(Null); isNothing {
		return nil, false, nil
	}
	return val, present, err
}

// member reads the key from a Members value.
func (k *key) member(m Members) (any, bool, error) {
	if !k.isText {
		return nil, false, k.fail(ReasonType, m)
	}
	return m.Member(k.text)
}

func (k *key) lookup(obj any) (any, bool, error) {
	switch o := obj.(type) {
	case nil:
		return nil, false, nil
	case Members:
		return k.member(o)
	case map[string]any:
		if !k.isText {
			return nil, false, k.fail(ReasonType, obj)
		}
		val, ok := o[k.text]
		return val, ok, nil
	case []any:
		i, err := k.index(len(o), obj)
		if err != nil {
			return nil, false, err
		}
		return o[i], true, nil
	}
	return k.lookupValue(Adapter{}.NativeToValue(obj))
}

// lookupValue reads the key from a value of CEL.
func (k *key) lookupValue(val ref.Val) (any, bool, error) {
	switch v := val.(type) {
	case *types.Err:
		return nil, false, v
	case types.Null:
		return nil, false, nil
	case *types.Optional:
		if !v.HasValue() {
			return nil, false, nil
		}
		return k.lookup(v.GetValue())
	case traits.Mapper:
		found, ok := v.Find(k.val)
		if celErr, isErr := found.(*types.Err); isErr {
			return nil, false, celErr
		}
		if !ok {
			return nil, false, nil
		}
		return found, true, nil
	case traits.Lister:
		size, _ := v.Size().(types.Int)
		i, err := k.index(int(size), val)
		if err != nil {
			return nil, false, err
		}
		return v.Get(types.Int(i)), true, nil
	}
	return nil, false, k.fail(ReasonType, val)
}

// index returns the key as an index into a list of that length.
func (k *key) index(length int, list any) (int, error) {
	i, err := types.IndexOrError(k.val)
	if err != nil {
		return 0, k.fail(ReasonType, list)
	}
	if i < 0 || i >= length {
		return 0, &ReadError{NodeID: k.id, Reason: ReasonIndex, Key: keyText(k.val), Found: "list", Length: length}
	}
	return i, nil
}

func (k *key) fail(reason Reason, obj any) error {
	return &ReadError{NodeID: k.id, Reason: reason, Key: keyText(k.val), Found: foundType(obj)}
}

// keyText formats a key for a message.
func keyText(val ref.Val) string {
	if s, ok := val.(types.String); ok {
		return fmt.Sprintf("%q", string(s))
	}
	return fmt.Sprint(val.Value())
}

func foundType(obj any) string {
	if _, ok := obj.(Members); ok {
		return "map"
	}
	return Adapter{}.NativeToValue(obj).Type().TypeName()
}
