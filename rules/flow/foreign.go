package flow

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
	switch name {
	case "Values", "Release", "Chart":
		return "there are no values of a chart: what users set is a field of the parent, as in parent.spec.x"
	case "Date", "time":
		return "write now for the time"
	case "item", "each", "element":
		return "the items of a forEach have the names that it gives them: forEach: [{name: item, in: …}]"
	}
	return ""
}

// foreignFunction is a hint for a function of another language. whole is the name with what is before it, as in Date.now.
func foreignFunction(whole, name string) string {
	if whole == "Date.now" || whole == "time.Now" {
		return "write now"
	}
	switch name {
	case "len", "length", "count":
		return "write size(…)"
	case "default", "coalesce", "getOrDefault", "orDefault":
		return "write .? before the field that may be missing, and orValue(…) behind it, as in parent.spec.?x.orValue(1)"
	case "toUpper", "upper", "toUpperCase":
		return "write upperAscii()"
	case "toLower", "lower", "toLowerCase":
		return "write lowerAscii()"
	case "str", "toString", "String":
		return "write string(…)"
	case "parseInt", "Number", "atoi":
		return "write int(…)"
	case "strip", "trimSpace":
		return "write trim()"
	case "substr":
		return "write substring(start, end)"
	case "printf", "sprintf":
		return `write "text %s".format([value])`
	case "b64enc":
		return "write base64.encode(bytes(…))"
	case "b64dec":
		return "write string(base64.decode(…))"
	case "hasKey", "has_key":
		return "write key in map"
	case "keys":
		return "write map.map(key, key)"
	case "range":
		return "write lists.range(n)"
	case "push", "append", "concat":
		return "write list + [item]"
	case "ternary":
		return "write condition ? value : other"
	case "typeof":
		return "write type(…)"
	case "lookup":
		return "name the object in spec.lookups, and read it as lookups.<id>"
	case "include", "template", "tpl":
		return "there are no templates to include: give the value to one of spec.variables, and read it as variables.<name>"
	case "waitFor":
		return "name what the child waits for in its dependsOn"
	}
	return ""
}
