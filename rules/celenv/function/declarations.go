package function

import (
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types/ref"

	"kanon.dev/kanon/rules/celenv/value"
)

// coreFunctions are the operators, and what macros make of loops.
func coreFunctions() []row {
	return []row{
		{operators.Add, costScan, sums(), 0, limitSum, "add_bytes add_double add_duration_duration add_duration_timestamp add_timestamp_duration add_int64 add_list add_string add_uint64 " +
			"kanon__+__int_double kanon__+__double_int"},
		{operators.LogicalNot, costConstant, little(), 0, nil, "logical_not"},
		{operators.Negate, costConstant, little(), 0, nil, "negate_double negate_int64"},
		{operators.In, costScan, little(), 0, nil, "in_list in_map"},
		{operators.NotStrictlyFalse, costConstant, little(), 0, nil, "not_strictly_false"},
		{operators.NotEquals, costScan, little(), 0, nil, "not_equals"},
		{operators.Modulo, costConstant, little(), 0, nil, "modulo_int64 modulo_uint64"},
		{operators.LogicalAnd, costConstant, little(), 0, nil, "logical_and"},
		{operators.Multiply, costConstant, little(), 0, nil, "multiply_double multiply_int64 multiply_uint64 kanon__*__int_double kanon__*__double_int"},
		{operators.Subtract, costConstant, little(), 0, nil, "subtract_double subtract_duration_duration subtract_int64 subtract_timestamp_duration subtract_timestamp_timestamp subtract_uint64 " +
			"kanon__-__int_double kanon__-__double_int"},
		{operators.Divide, costConstant, little(), 0, nil, "divide_double divide_int64 divide_uint64 kanon__/__int_double kanon__/__double_int"},
		{operators.LessEquals, costScan, little(), 0, nil, "less_equals_bool less_equals_int64 less_equals_int64_double less_equals_int64_uint64 less_equals_uint64 less_equals_uint64_double " +
			"less_equals_uint64_int64 less_equals_double less_equals_double_int64 less_equals_double_uint64 less_equals_string less_equals_bytes " +
			"less_equals_timestamp less_equals_duration"},
		{operators.Less, costScan, little(), 0, nil, "less_bool less_int64 less_int64_double less_int64_uint64 less_uint64 less_uint64_double less_uint64_int64 less_double less_double_int64 " +
			"less_double_uint64 less_string less_bytes less_timestamp less_duration"},
		{operators.Equals, costScan, little(), 0, nil, "equals"},
		{operators.GreaterEquals, costScan, little(), 0, nil, "greater_equals_bool greater_equals_int64 greater_equals_int64_double greater_equals_int64_uint64 greater_equals_uint64 greater_equals_uint64_double " +
			"greater_equals_uint64_int64 greater_equals_double greater_equals_double_int64 greater_equals_double_uint64 greater_equals_string greater_equals_bytes " +
			"greater_equals_timestamp greater_equals_duration"},
		{operators.Greater, costScan, little(), 0, nil, "greater_bool greater_int64 greater_int64_double greater_int64_uint64 greater_uint64 greater_uint64_double greater_uint64_int64 greater_double " +
			"greater_double_int64 greater_double_uint64 greater_string greater_bytes greater_timestamp greater_duration"},
		{operators.OptSelect, costConstant, partOf(), 0, nil, "select_optional_field"},
		{operators.Conditional, costConstant, partOf(), 0, nil, "conditional"},
		{operators.OptIndex, costConstant, partOf(), 0, nil, "list_optindex_optional_int optional_list_optindex_optional_int map_optindex_optional_value optional_map_optindex_optional_value"},
		{operators.Index, costConstant, partOf(), 0, nil, "index_list index_map optional_list_index_int optional_map_index_value"},
		{"__not_strictly_false__", costConstant, little(), 0, nil, "__not_strictly_false__"},
		{operators.OldIn, costScan, little(), 0, nil, "in_list in_map"},
		{operators.LogicalOr, costConstant, little(), 0, nil, "logical_or"},
		{"dyn", costConstant, partOf(), 0, nil, "to_dyn"},
		{"in", costScan, little(), 0, nil, "in_list in_map"},
		{"size", costScan, little(), 0, nil, "size_bytes bytes_size size_list list_size size_map map_size size_string string_size"},
		{"type", costConstant, little(), 0, nil, "type"},
	}
}

// conversions are the functions that are called as types are.
func conversions() []row {
	return []row{
		{"bool", costScan, little(), maxNumber, nil, "bool_to_bool string_to_bool"},
		{"bytes", costReads, texts(1), 0, nil, "bytes_to_bytes string_to_bytes"},
		{"double", costScan, little(), maxNumber, nil, "double_to_double int64_to_double string_to_double uint64_to_double"},
		{"duration", costScan, little(), maxNumber, nil, "duration_to_duration string_to_duration"},
		{"int", costScan, little(), maxNumber, nil, "int64_to_int64 double_to_int64 duration_to_int64 string_to_int64 timestamp_to_int64 uint64_to_int64"},
		{"string", costScan, texts(1), 0, nil, "string_to_string bool_to_string bytes_to_string double_to_string duration_to_string int64_to_string timestamp_to_string uint64_to_string " +
			"cidr_to_string ip_to_string"},
		{"timestamp", costScan, little(), maxNumber, nil, "timestamp_to_timestamp int64_to_timestamp string_to_timestamp"},
		{"uint", costScan, little(), maxNumber, nil, "uint64_to_uint64 double_to_uint64 int64_to_uint64 string_to_uint64"},
	}
}

func textFunctions() []row {
	return []row{
		{"base64.decode", costReads, texts(2), 0, nil, "base64_decode_string"},
		{"base64.encode", costReads, texts(2), 0, nil, "base64_encode_bytes"},
		{"charAt", costReads, atMost(4), 0, nil, "string_char_at_int"},
		{"contains", costScan, little(), 0, nil, "contains_string"},
		{"endsWith", costScan, little(), 0, nil, "ends_with_string"},
		{"find", costChecked, partOf(), 0, binaryBound(limitMatch), "string_find_string"},
		{"findAll", costChecked, atMost((value.ItemBytes + value.ValueBytes) * maxMade), 0, binaryBound(limitMatch), "string_find_all_string string_find_all_string_int"},
		{"format", costChecked, formatted(), 0, limitFormat, "string_format"},
		{"indexOf", costChecked, little(), 0, limitSearch, "string_index_of_string string_index_of_string_int list_a_index_of_int"},
		{"join", costChecked, joins(), 0, limitJoin, "list_join list_join_string"},
		{"json.encode", costReads, atMost(maxText), 0, nil, "json_encode_dyn"},
		{"lastIndexOf", costChecked, little(), 0, limitSearch, "string_last_index_of_string string_last_index_of_string_int list_a_last_index_of_int"},
		{"lowerAscii", costScan, texts(2), 0, nil, "string_lower_ascii"},
		{"matches", costChecked, little(), 0, binaryBound(limitMatch), "matches matches_string"},
		{"replace", costChecked, replaced(), 0, limitReplace, "string_replace_string_string string_replace_string_string_int"},
		{"reverse", costReads, sums(), 0, nil, "list_reverse string_reverse"},
		{"split", costChecked, splits(), 0, limitSplit, "string_split_string string_split_string_int"},
		{"startsWith", costScan, little(), 0, nil, "starts_with_string"},
		{"strings.quote", costReads, texts(3), 0, nil, "strings_quote"},
		{"substring", costReads, texts(1), 0, nil, "string_substring_int string_substring_int_int"},
		{"trim", costScan, partOf(), 0, nil, "string_trim"},
		{"upperAscii", costScan, texts(2), 0, nil, "string_upper_ascii"},
	}
}

func listFunctions() []row {
	return []row{
		{"@sortByAssociatedKeys", costChecked, lists(), 0, limitSorted, "list_int_sortByAssociatedKeys list_uint_sortByAssociatedKeys list_double_sortByAssociatedKeys list_bool_sortByAssociatedKeys " +
			"list_google.protobuf.Duration_sortByAssociatedKeys list_google.protobuf.Timestamp_sortByAssociatedKeys list_string_sortByAssociatedKeys " +
			"list_bytes_sortByAssociatedKeys"},
		{"cel.@mapInsert", costReads, inserted(), 0, nil, "@mapInsert_map_key_value @mapInsert_map_map"},
		{"distinct", costPairs, lists(), 0, func(args ...ref.Val) ref.Val { return limitPairs("distinct", args[0], args[0]) }, "list_distinct"},
		{"first", costConstant, partOf(), 0, nil, "list_first"},
		{"flatten", costChecked, atMost((value.ItemBytes + value.ValueBytes) * maxMade), 0, limitFlatten, "list_flatten list_flatten_int"},
		{"includes", costReads, partOf(), 0, nil, "list_includes_dyn_dyn"},
		{"isSorted", costReads, partOf(), 0, nil, "list_int_is_sorted_bool list_uint_is_sorted_bool list_double_is_sorted_bool list_bool_is_sorted_bool list_duration_is_sorted_bool " +
			"list_timestamp_is_sorted_bool list_string_is_sorted_bool list_bytes_is_sorted_bool"},
		{"last", costConstant, partOf(), 0, nil, "list_last"},
		{"lists.range", costReads, ranged(), 0, nil, "lists_range"},
		{"max", costReads, partOf(), 0, nil, "list_int_max_int list_uint_max_uint list_double_max_double list_bool_max_bool list_duration_max_duration list_timestamp_max_timestamp " +
			"list_string_max_string list_bytes_max_bytes"},
		{"min", costReads, partOf(), 0, nil, "list_int_min_int list_uint_min_uint list_double_min_double list_bool_min_bool list_duration_min_duration list_timestamp_min_timestamp " +
			"list_string_min_string list_bytes_min_bytes"},
		{"sets.contains", costPairs, little(), 0, binaryBound(func(a, b ref.Val) ref.Val { return limitPairs("this set function", a, b) }), "list_sets_contains_list"},
		{"sets.equivalent", costPairs, little(), 0, binaryBound(func(a, b ref.Val) ref.Val { return limitPairs("this set function", a, b) }), "list_sets_equivalent_list"},
		{"sets.intersects", costPairs, little(), 0, binaryBound(func(a, b ref.Val) ref.Val { return limitPairs("this set function", a, b) }), "list_sets_intersects_list"},
		{"slice", costReads, lists(), 0, nil, "list_slice"},
		{"sort", costChecked, lists(), 0, limitSorted, "list_int_sort list_uint_sort list_double_sort list_bool_sort list_google.protobuf.Duration_sort list_google.protobuf.Timestamp_sort list_string_sort " +
			"list_bytes_sort"},
		{"sum", costReads, partOf(), 0, nil, "list_int_sum_int list_uint_sum_uint list_double_sum_double list_duration_sum_duration"},
	}
}

func optionalFunctions() []row {
	return []row{
		{"hasValue", costConstant, partOf(), 0, nil, "optional_hasValue"},
		{"optional.none", costConstant, partOf(), 0, nil, "optional_none"},
		{"optional.of", costConstant, partOf(), 0, nil, "optional_of"},
		{"optional.ofNonZeroValue", costConstant, partOf(), 0, nil, "optional_ofNonZeroValue"},
		{"optional.unwrap", costReads, lists(), 0, nil, "optional_unwrap"},
		{"or", costConstant, partOf(), 0, nil, "optional_or_optional"},
		{"orValue", costConstant, partOf(), 0, nil, "optional_orValue_value"},
		{"unwrapOpt", costReads, lists(), 0, nil, "optional_unwrapOpt"},
		{"value", costConstant, partOf(), 0, nil, "optional_value"},
	}
}

func numberFunctions() []row {
	return []row{
		{"getDate", costZone, little(), maxNumber, nil, "timestamp_to_day_of_month_1_based timestamp_to_day_of_month_1_based_with_tz"},
		{"getDayOfMonth", costZone, little(), maxNumber, nil, "timestamp_to_day_of_month timestamp_to_day_of_month_with_tz"},
		{"getDayOfWeek", costZone, little(), maxNumber, nil, "timestamp_to_day_of_week timestamp_to_day_of_week_with_tz"},
		{"getDayOfYear", costZone, little(), maxNumber, nil, "timestamp_to_day_of_year timestamp_to_day_of_year_with_tz"},
		{"getFullYear", costZone, little(), maxNumber, nil, "timestamp_to_year timestamp_to_year_with_tz"},
		{"getHours", costZone, little(), maxNumber, nil, "timestamp_to_hours timestamp_to_hours_with_tz duration_to_hours"},
		{"getMilliseconds", costZone, little(), maxNumber, nil, "timestamp_to_milliseconds timestamp_to_milliseconds_with_tz duration_to_milliseconds"},
		{"getMinutes", costZone, little(), maxNumber, nil, "timestamp_to_minutes timestamp_to_minutes_with_tz duration_to_minutes"},
		{"getMonth", costZone, little(), maxNumber, nil, "timestamp_to_month timestamp_to_month_with_tz"},
		{"getSeconds", costZone, little(), maxNumber, nil, "timestamp_to_seconds timestamp_to_seconds_tz duration_to_seconds"},
		{"math.@max", costReads, partOf(), 0, nil, "math_@max_double math_@max_int math_@max_uint math_@max_double_double math_@max_int_int math_@max_uint_uint math_@max_int_uint math_@max_int_double " +
			"math_@max_double_int math_@max_double_uint math_@max_uint_int math_@max_uint_double math_@max_list_double math_@max_list_int math_@max_list_uint"},
		{"math.@min", costReads, partOf(), 0, nil, "math_@min_double math_@min_int math_@min_uint math_@min_double_double math_@min_int_int math_@min_uint_uint math_@min_int_uint math_@min_int_double " +
			"math_@min_double_int math_@min_double_uint math_@min_uint_int math_@min_uint_double math_@min_list_double math_@min_list_int math_@min_list_uint"},
		{"math.abs", costConstant, little(), 0, nil, "math_abs_double math_abs_int math_abs_uint"},
		{"math.bitAnd", costConstant, little(), 0, nil, "math_bitAnd_int_int math_bitAnd_uint_uint"},
		{"math.bitNot", costConstant, little(), 0, nil, "math_bitNot_int_int math_bitNot_uint_uint"},
		{"math.bitOr", costConstant, little(), 0, nil, "math_bitOr_int_int math_bitOr_uint_uint"},
		{"math.bitShiftLeft", costConstant, little(), 0, nil, "math_bitShiftLeft_int_int math_bitShiftLeft_uint_int"},
		{"math.bitShiftRight", costConstant, little(), 0, nil, "math_bitShiftRight_int_int math_bitShiftRight_uint_int"},
		{"math.bitXor", costConstant, little(), 0, nil, "math_bitXor_int_int math_bitXor_uint_uint"},
		{"math.ceil", costConstant, little(), 0, nil, "math_ceil_double"},
		{"math.floor", costConstant, little(), 0, nil, "math_floor_double"},
		{"math.isFinite", costConstant, little(), 0, nil, "math_isFinite_double"},
		{"math.isInf", costConstant, little(), 0, nil, "math_isInf_double"},
		{"math.isNaN", costConstant, little(), 0, nil, "math_isNaN_double"},
		{"math.round", costConstant, little(), 0, nil, "math_round_double"},
		{"math.sign", costConstant, little(), 0, nil, "math_sign_double math_sign_int math_sign_uint"},
		{"math.sqrt", costConstant, little(), 0, nil, "math_sqrt_double math_sqrt_int math_sqrt_uint"},
		{"math.trunc", costConstant, little(), 0, nil, "math_trunc_double"},
	}
}

func kubernetesFunctions() []row {
	return []row{
		{"add", costConstant, atMost(4 * maxNumber), 0, nil, "quantity_add quantity_add_int"},
		{"asApproximateFloat", costConstant, little(), 0, nil, "quantity_get_float"},
		{"asInteger", costConstant, little(), 0, nil, "quantity_get_int"},
		{"cidr", costReads, atMost(4 * maxNumber), maxNumber, nil, "string_to_cidr"},
		{"compareTo", costConstant, little(), 0, nil, "quantity_compare_to semver_compare_to"},
		{"containsCIDR", costReads, atMost(4 * maxNumber), maxNumber, nil, "cidr_contains_cidr_string cidr_contains_cidr"},
		{"containsIP", costReads, atMost(4 * maxNumber), maxNumber, nil, "cidr_contains_ip_string cidr_contains_ip_ip"},
		{"family", costConstant, little(), 0, nil, "ip_family"},
		{"format.byte", costConstant, little(), 0, nil, "format.byte"},
		{"format.date", costConstant, little(), 0, nil, "format.date"},
		{"format.datetime", costConstant, little(), 0, nil, "format.datetime"},
		{"format.dns1035Label", costConstant, little(), 0, nil, "format.dns1035Label"},
		{"format.dns1035LabelPrefix", costConstant, little(), 0, nil, "format.dns1035LabelPrefix"},
		{"format.dns1123Label", costConstant, little(), 0, nil, "format.dns1123Label"},
		{"format.dns1123LabelPrefix", costConstant, little(), 0, nil, "format.dns1123LabelPrefix"},
		{"format.dns1123Subdomain", costConstant, little(), 0, nil, "format.dns1123Subdomain"},
		{"format.dns1123SubdomainPrefix", costConstant, little(), 0, nil, "format.dns1123SubdomainPrefix"},
		{"format.labelValue", costConstant, little(), 0, nil, "format.labelValue"},
		{"format.named", costConstant, little(), 0, nil, "format-named"},
		{"format.qualifiedName", costConstant, little(), 0, nil, "format.qualifiedName"},
		{"format.uri", costConstant, little(), 0, nil, "format.uri"},
		{"format.uuid", costConstant, little(), 0, nil, "format.uuid"},
		{"getEscapedPath", costReads, atMost(3 * maxNamed), 0, nil, "url_get_escaped_path"},
		{"getHost", costReads, atMost(3 * maxNamed), 0, nil, "url_get_host"},
		{"getHostname", costReads, atMost(3 * maxNamed), 0, nil, "url_get_hostname"},
		{"getPort", costReads, atMost(3 * maxNamed), 0, nil, "url_get_port"},
		{"getQuery", costReads, atMost((value.EntryBytes + value.ItemBytes + 2*value.ValueBytes) * maxNamed / 2), 0, nil, "url_get_query"},
		{"getScheme", costReads, atMost(3 * maxNamed), 0, nil, "url_get_scheme"},
		{"ip", costReads, atMost(4 * maxNumber), maxNumber, nil, "cidr_ip string_to_ip"},
		{"ip.isCanonical", costReads, atMost(4 * maxNumber), maxNumber, nil, "ip_is_canonical"},
		{"isCIDR", costReads, atMost(4 * maxNumber), maxNumber, nil, "is_cidr"},
		{"isGlobalUnicast", costConstant, little(), 0, nil, "ip_is_global_unicast"},
		{"isGreaterThan", costConstant, little(), 0, nil, "quantity_is_greater_than semver_is_greater_than"},
		{"isIP", costReads, atMost(4 * maxNumber), maxNumber, nil, "is_ip"},
		{"isInteger", costConstant, little(), 0, nil, "quantity_is_integer"},
		{"isLessThan", costConstant, little(), 0, nil, "quantity_is_less_than semver_is_less_than"},
		{"isLinkLocalMulticast", costConstant, little(), 0, nil, "ip_is_link_local_multicast"},
		{"isLinkLocalUnicast", costConstant, little(), 0, nil, "ip_is_link_local_unicast"},
		{"isLoopback", costConstant, little(), 0, nil, "ip_is_loopback"},
		{"isQuantity", costReads, atMost(4 * maxNumber), maxNumber, limitExponent, "is_quantity_string"},
		{"isSemver", costReads, atMost(4 * maxNumber), maxNumber, nil, "is_semver_string is_semver_string_bool"},
		{"isURL", costReads, little(), maxNamed, nil, "is_url_string"},
		{"isUnspecified", costConstant, little(), 0, nil, "ip_is_unspecified"},
		{"major", costConstant, little(), 0, nil, "semver_major"},
		{"masked", costConstant, little(), 0, nil, "cidr_masked"},
		{"minor", costConstant, little(), 0, nil, "semver_minor"},
		{"patch", costConstant, little(), 0, nil, "semver_patch"},
		{"prefixLength", costConstant, little(), 0, nil, "cidr_prefix_length"},
		{"quantity", costReads, atMost(4 * maxNumber), maxNumber, limitExponent, "string_to_quantity"},
		{"semver", costReads, atMost(4 * maxNumber), maxNumber, nil, "string_to_semver string_bool_to_semver"},
		{"sign", costConstant, little(), 0, nil, "quantity_sign"},
		{"sub", costConstant, atMost(4 * maxNumber), 0, nil, "quantity_sub quantity_sub_int"},
		{"url", costReads, texts(4), maxNamed, nil, "string_to_url"},
		{"validate", costChecked, atMost(4 * maxNamed), maxNamed, nil, "format-validate"},
	}
}
