package flow

import (
	"cmp"
	"strings"
)

// foreignWord is what CEL and Kanon have for a literal or a name of another language; empty if there is nothing.
func foreignWord(name string) string {
	switch name {
	case "None", "nil", "undefined", "NULL", "Null":
		return "null"
	case "True", "TRUE":
		return "true"
	case "False", "FALSE":
		return "false"
	case "this", "oxr":
		return RootParent
	}
	return ""
}

// foreignName is a hint for a name of another engine or language that has no single counterpart.
func foreignName(name string) string {
	switch strings.TrimPrefix(name, ".") {
	case "Values", "Chart", "var", "local":
		return "what users set is a field of the parent, as in parent.spec.x; a value of the rule itself is one of spec.variables"
	case "Release":
		return "the object that the rule is for has the name parent.metadata.name and the namespace parent.metadata.namespace"
	case "Date", "time":
		return "write now for the time"
	case "Math":
		return "write math.greatest(a, b), math.least(a, b), math.ceil(x), math.floor(x) or math.round(x)"
	case "item", "each", "element":
		return "the items of a forEach have the names that it gives them: forEach: [{name: item, in: …}]"
	case "desired":
		return "what the rule makes is children, as in children.<id>"
	}
	return ""
}

// foreignFunction is a hint for a function of another language. whole is the name with what is before it, as in Date.now.
func foreignFunction(whole, name string) string {
	switch whole {
	case "Date.now", "time.Now":
		return "write now"
	case "JSON.parse", "json.loads", "json.decode":
		return "write fromJson(…)"
	case "JSON.stringify", "json.dumps", "json.encode":
		return "write toJson(…)"
	case "Object.keys", "Object.values", "Object.entries":
		return "write map.map(key, …)"
	}
	name = strings.ToLower(name)
	return cmp.Or(foreignTextFunction(name), foreignListFunction(name), foreignWay(name))
}

// foreignTextFunction is foreignFunction for what makes or changes text and numbers.
func foreignTextFunction(name string) string {
	switch name {
	case "toupper", "upper", "touppercase":
		return "write upperAscii()"
	case "tolower", "lower", "tolowercase":
		return "write lowerAscii()"
	case "str", "tostring", "itoa", "string":
		return "write string(…)"
	case "parseint", "number", "atoi", "toint":
		return "write int(…)"
	case "strip", "trimspace", "trimsuffix", "trimprefix", "trimstart", "trimend", "trimleft", "trimright":
		return "write trim()"
	case "substr", "trunc":
		return "write substring(start, end)"
	case "hasprefix", "startswith":
		return "write text.startsWith(…)"
	case "hassuffix", "endswith":
		return "write text.endsWith(…)"
	case "replaceall":
		return "write text.replace(from, to)"
	case "contains":
		return "write text.contains(…)"
	case "printf", "sprintf", "padstart", "padend", "zfill", "ljust", "rjust":
		return `write "text %s".format([value])`
	case "b64enc":
		return "write base64.encode(bytes(…))"
	case "b64dec":
		return "write string(base64.decode(…))"
	case "jsonencode", "tojsonpretty", "tojsonstring":
		return "write toJson(…)"
	case "jsondecode":
		return "write fromJson(…)"
	case "sha256sum":
		return "write sha256(…)"
	case "randalphanum", "randalpha", "randnumeric", "uuidv4", "uuid":
		return "write random(n), in a field that is generated once"
	}
	return ""
}

// foreignListFunction is foreignFunction for lists and maps.
func foreignListFunction(name string) string {
	switch name {
	case "len", "length", "count":
		return "write size(…)"
	case "get", "dig":
		return "write map[?key].orValue(value)"
	case "join":
		return "write list.join(separator)"
	case "haskey", "has_key":
		return "write key in map"
	case "keys":
		return "write map.map(key, key)"
	case "range":
		return "write lists.range(n)"
	case "push", "append", "concat":
		return "write list + [item]"
	case "sorted":
		return "write list.sort()"
	case "some", "any":
		return "write list.exists(x, …), with a name for the items"
	case "every":
		return "write list.all(x, …), with a name for the items"
	case "dict":
		return "a map is written with braces, as in {'key': value}"
	case "list", "tuple":
		return "a list is written with brackets, as in [a, b]"
	}
	return ""
}

// foreignWay is foreignFunction for what is no function here.
func foreignWay(name string) string {
	switch name {
	case "default", "coalesce", "getordefault", "ordefault", "try":
		return "write .? before the field that may be missing, and orValue(…) behind it, as in parent.spec.?x.orValue(1)"
	case "required":
		return "a field that the schema requires needs no check; one that is missing makes the child wait"
	case "ternary":
		return "write condition ? value : other"
	case "eq":
		return "write =="
	case "ne":
		return "write !="
	case "typeof":
		return "write type(…)"
	case "lookup":
		return "name the object in spec.lookups, and read it as lookups.<id>"
	case "include", "template", "tpl":
		return "there are no templates to include: give the value to one of spec.variables, and read it as variables.<name>"
	case "waitfor":
		return "name what the child waits for in its dependsOn"
	}
	return ""
}
