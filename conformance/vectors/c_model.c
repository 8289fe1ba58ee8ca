//% common
enum { TO_NEAREST_EVEN, DOWNWARD, UPWARD, TOWARD_ZERO, TO_NEAREST_AWAY, TO_ODD, STOCHASTIC };
enum { INEXACT = 0x01, UNDERFLOW = 0x02, OVERFLOW = 0x04, DIVIDE_BY_ZERO = 0x08, INVALID = 0x10 };
enum { FINITE, INFINITE, QUIET_NAN, SIGNALLING_NAN };
enum { IEEE, ALL_ONES, NEGATIVE_ZERO, NO_NAN };
enum { PAYLOAD, CANONICAL, CANONICAL_SIGNED, NEGATIVE };
enum { POISON, ZERO, ZERO_INVERTED, LARGEST, LEAST, NAN_OF_INVALID, SIGN_BIT };
enum { NO_VALUE, SATURATED, SATURATED_NAN_LARGEST, MODULAR };
enum { AFTER_ROUNDING, BEFORE_ROUNDING };
enum { EQUAL = 1, GREATER = 2, LESS = 4, UNORDERED = 8 };
enum { FLAT, EVEN_ODD, NEIGHBOURS, HALVES, SEQUENTIAL };
enum { C_WITH, C_LAST, C_AT_END };
enum { BY_VALUE, SELECTED, NUMBER_SELECTED, SECOND };

// A code is the bit pattern of an element, a magnitude is a code without its sign bit.
typedef struct {
    int bits, mantissa_bits, bias, is_signed, has_zero, has_infinity, has_even_codes, nan;
    int flush_operands, flush_results, flush_to_positive, flush_by_code;
    uint64_t max_magnitude;
} format;

// An unsigned integer of 128 bits.
typedef struct {
    uint64_t high, low;
} wide;

// (-1)**sign * significand * 2**exponent if it is finite; the significand of a NaN is its fraction.
typedef struct {
    int kind, sign, exponent;
    wide significand;
} number;

// How an operation rounds; the random bits of STOCHASTIC.
typedef struct {
    int mode;
    uint64_t random;
} rounding;

// A code with its exception flags; poison: the format has no code for the result.
typedef struct {
    uint64_t code;
    unsigned flags;
    int poison;
} outcome;

static wide wide_of(uint64_t low)
{
    wide x;
    x.high = 0;
    x.low = low;
    return x;
}

static int is_zero(wide x)
{
    return x.high == 0 && x.low == 0;
}

// The place of the highest bit that is set; -1 for 0.
static int top_of(wide x)
{
    uint64_t part = x.high != 0 ? x.high : x.low;
    int place = x.high != 0 ? 63 : -1;
    while (part != 0) {
        part >>= 1;
        place++;
    }
    return place;
}

static wide shifted_left(wide x, int places)
{
    if (places >= 128)
        return wide_of(0);
    if (places >= 64) {
        x.high = x.low;
        x.low = 0;
        places -= 64;
    }
    if (places > 0) {
        x.high = x.high << places | x.low >> (64 - places);
        x.low <<= places;
    }
    return x;
}

static wide shifted_right(wide x, int places)
{
    if (places >= 128)
        return wide_of(0);
    if (places >= 64) {
        x.low = x.high;
        x.high = 0;
        places -= 64;
    }
    if (places > 0) {
        x.low = x.low >> places | x.high << (64 - places);
        x.high >>= places;
    }
    return x;
}

// Whether any of the lowest bits is set.
static int has_bits_below(wide x, int places)
{
    return places >= 128 ? !is_zero(x) : places > 0 && !is_zero(shifted_left(x, 128 - places));
}

static uint64_t bits_of_ones(int count)
{
    return count >= 64 ? ~UINT64_C(0) : (UINT64_C(1) << count) - 1;
}

static uint64_t sign_bit(const format *f, int sign)
{
    return f->is_signed && sign ? UINT64_C(1) << (f->bits - 1) : 0;
}

static uint64_t nan_code(const format *f)
{
    uint64_t quiet = f->mantissa_bits > 0 ? UINT64_C(1) << (f->mantissa_bits - 1) : 0;
    switch (f->nan) {
    case IEEE:
        return (f->max_magnitude + 1) | quiet;
    case ALL_ONES:
        return bits_of_ones(f->bits - f->is_signed);
    default:
        return UINT64_C(1) << (f->bits - 1);
    }
}

static int has_negative_zero(const format *f)
{
    return f->is_signed && f->nan != NEGATIVE_ZERO;
}

static number unpacked(const format *f, uint64_t code)
{
    number x;
    uint64_t fraction = code & bits_of_ones(f->mantissa_bits);
    uint64_t magnitude = code & bits_of_ones(f->bits - f->is_signed);
    int field = (int)(magnitude >> f->mantissa_bits);
    x.kind = FINITE;
    x.sign = f->is_signed ? (int)(code >> (f->bits - 1) & 1) : 0;
    x.exponent = 0;
    x.significand = wide_of(0);
    if (magnitude > f->max_magnitude || (f->nan == NEGATIVE_ZERO && code == nan_code(f))) {
        if (f->has_infinity && magnitude == f->max_magnitude + 1) {
            x.kind = INFINITE;
        } else if (f->nan == NEGATIVE_ZERO) {
            x.kind = QUIET_NAN;
            x.sign = 0;
        } else {
            int quiet = f->nan != IEEE || (code >> (f->mantissa_bits - 1) & 1) != 0;
            x.kind = quiet ? QUIET_NAN : SIGNALLING_NAN;
            x.significand = wide_of(fraction);
        }
        return x;
    }
    x.exponent = (field == 0 && f->has_zero ? 1 : field) - f->bias - f->mantissa_bits;
    if (field != 0 || !f->has_zero)
        fraction |= UINT64_C(1) << f->mantissa_bits;
    else if (f->flush_operands && fraction != 0) {
        fraction = 0;
        if (!has_negative_zero(f) || f->flush_to_positive)
            x.sign = 0;
    }
    x.significand = wide_of(fraction);
    return x;
}

static unsigned invalid_if_signalling(int kind)
{
    return kind == SIGNALLING_NAN ? INVALID : 0;
}

static outcome packed(uint64_t code, unsigned flags)
{
    outcome r;
    r.code = code;
    r.flags = flags;
    r.poison = 0;
    return r;
}

// The NaN result: of an operand of a format, or of an invalid operation (no operand).
static outcome packed_nan(const format *f, const format *source, const number *operand, unsigned flags)
{
    int sign = operand != 0 ? operand->sign : 0;
    uint64_t payload = operand != 0 ? operand->significand.low : 0;
    outcome r;
    if (NAN_RESULT == CANONICAL) {
        sign = 0;
        payload = 0;
    } else if (NAN_RESULT == CANONICAL_SIGNED) {
        sign = operand == 0 || source->nan == NEGATIVE_ZERO || sign != 0;
        payload = 0;
    } else if (NAN_RESULT == NEGATIVE && operand == 0) {
        sign = 1;
    }
    if (f->nan == NO_NAN) {
        r = packed(0, flags | INVALID);
        r.poison = NAN_WITHOUT_CODE == POISON;
        if (NAN_WITHOUT_CODE == ZERO)
            r.code = sign_bit(f, sign);
        else if (NAN_WITHOUT_CODE == ZERO_INVERTED)
            r.code = sign_bit(f, !sign);
        else if (NAN_WITHOUT_CODE == LARGEST)
            r.code = f->max_magnitude;
        return r;
    }
    r = packed(nan_code(f), flags);
    if (f->nan == IEEE) {
        int wider = f->mantissa_bits - source->mantissa_bits;
        r.code |= wider >= 0 ? payload << wider : payload >> -wider;
    }
    r.code |= sign_bit(f, sign);
    return r;
}

static outcome packed_zero(const format *f, int sign)
{
    if (!f->has_zero)
        return ZERO_WITHOUT_CODE == LEAST ? packed(0, INEXACT) : packed_nan(f, f, 0, INVALID);
    return packed(has_negative_zero(f) ? sign_bit(f, sign) : 0, 0);
}

// Infinity; the NaN of a format without infinities; and in a format with neither, the largest value or zero.
static outcome packed_infinity(const format *f, int sign, unsigned flags, int largest)
{
    uint64_t magnitude = f->has_infinity ? f->max_magnitude + 1 : f->nan != NO_NAN ? nan_code(f)
                         : largest ? f->max_magnitude : 0;
    return packed(magnitude | sign_bit(f, sign), flags);
}

// The last bit of the code of 0 * 2**lowest: 1 only where codes, not significands, are even or odd.
static uint64_t code_parity(const format *f, int lowest)
{
    return f->has_even_codes ? (uint64_t)((lowest - (f->has_zero - f->bias)) & 1) : 0;
}

static rounding by(int mode)
{
    rounding how;
    how.mode = mode;
    how.random = 0;
    return how;
}

// Whether significand / 2**places, which is not an integer, rounds to the integer above it, not to the one below; odd: 1
// where an even integer stands for an odd code.
static int goes_away(int sign, wide significand, int places, rounding how, uint64_t odd)
{
    uint64_t parity = (shifted_right(significand, places).low ^ odd) & 1;
    int half = (int)(shifted_right(significand, places - 1).low & 1);
    switch (how.mode) {
    case TO_NEAREST_EVEN:
        return half && (has_bits_below(significand, places - 1) || parity != 0);
    case TO_NEAREST_AWAY:
        return half;
    case TO_ODD:
        return parity == 0;
    case UPWARD:
        return !sign;
    case DOWNWARD:
        return sign;
    case STOCHASTIC: {
        // The fraction times 2**RANDOM_BITS, rounded to an integer, plus the random bits is at least 2**RANDOM_BITS.
        int beyond = places - RANDOM_BITS;
        wide fraction = places < 128 ? shifted_right(shifted_left(significand, 128 - places), 128 - places) : significand;
        uint64_t needed = bits_of_ones(RANDOM_BITS) - how.random;
        uint64_t whole = beyond > 0 ? shifted_right(fraction, beyond).low : shifted_left(fraction, -beyond).low;
        int up = has_bits_below(fraction, beyond) && goes_away(0, fraction, beyond, by(RANDOM_FRACTION), 0);
        return whole > needed || (up && whole == needed);
    }
    default:
        return 0;
    }
}

// significand / 2**places, rounded to an integer.
static uint64_t rounded(int sign, wide significand, int places, rounding how, uint64_t odd, int *inexact)
{
    *inexact = has_bits_below(significand, places);
    if (places <= 0)
        return shifted_left(significand, -places).low;
    return shifted_right(significand, places).low + (uint64_t)(*inexact && goes_away(sign, significand, places, how, odd));
}

// (-1)**sign * significand * 2**exponent, which is not 0, rounded once.
static outcome round_pack(const format *f, int sign, wide significand, int exponent, rounding how, int saturate)
{
    int emin = f->has_zero - f->bias, leading = top_of(significand) + exponent, inexact;
    int lowest = (leading > emin ? leading : emin) - f->mantissa_bits;
    uint64_t kept = rounded(sign, significand, lowest - exponent, how, code_parity(f, lowest), &inexact), magnitude;
    uint64_t top_bit = sign ? UINT64_C(1) << (f->bits - 1) : 0;
    unsigned flags = inexact ? INEXACT : 0;
    if (sign && !f->is_signed && NEGATIVE_WITHOUT_CODE == NAN_OF_INVALID)
        return packed_nan(f, f, 0, INVALID);
    if (leading < emin) {
        int tiny = TININESS == BEFORE_ROUNDING || leading < emin - 1;
        if (!f->has_zero)
            return packed(kept != 0 ? top_bit : 0, UNDERFLOW | INEXACT);
        if (!tiny) {
            // With an unlimited exponent the value may round up to the smallest normal one.
            int ignored;
            uint64_t odd = code_parity(f, lowest - 1);
            tiny = rounded(sign, significand, lowest - 1 - exponent, how, odd, &ignored) >> (f->mantissa_bits + 1) == 0;
        }
        if (f->flush_results && (f->flush_by_code ? kept >> f->mantissa_bits == 0 : tiny)) {
            outcome zero = packed_zero(f, has_negative_zero(f) && !f->flush_to_positive ? sign : 0);
            zero.flags = UNDERFLOW | INEXACT;
            return zero;
        }
        if (inexact && tiny)
            flags |= UNDERFLOW;
    }
    // A carry out of the fraction moves into the exponent field by itself, and so does the bit before the fraction.
    magnitude = ((uint64_t)(lowest + f->mantissa_bits - emin) << f->mantissa_bits) + kept;
    if (!f->has_zero)
        magnitude -= UINT64_C(1) << f->mantissa_bits;
    if (magnitude > f->max_magnitude) {
        int nearest = how.mode == TO_NEAREST_EVEN || how.mode == TO_NEAREST_AWAY || how.mode == STOCHASTIC;
        int to_infinity = nearest || how.mode == (sign ? DOWNWARD : UPWARD);
        // Of the largest value and infinity, one has an odd code.
        to_infinity = to_infinity || (how.mode == TO_ODD && f->has_infinity && (f->max_magnitude & 1) == 0);
        if (saturate || !to_infinity)
            return packed(top_bit | f->max_magnitude, OVERFLOW | INEXACT);
        return packed_infinity(f, sign, OVERFLOW | INEXACT, 1);
    }
    if (f->has_zero && magnitude == 0 && !has_negative_zero(f))
        top_bit = 0;
    return packed(top_bit | magnitude, flags);
}

// An operand of another format: the fraction of a NaN is aligned with that of the result.
static number aligned(const format *f, const format *source, number x)
{
    int wider = f->mantissa_bits - source->mantissa_bits;
    if (x.kind >= QUIET_NAN)
        x.significand.low = wider >= 0 ? x.significand.low << wider : x.significand.low >> -wider;
    return x;
}

// The result of an operation with a NaN operand: that of the first one.
static outcome of_nans(const format *f, const number *operands, int count)
{
    const number *first = 0;
    unsigned flags = 0;
    int k;
    for (k = count - 1; k >= 0; k--) {
        flags |= invalid_if_signalling(operands[k].kind);
        if (operands[k].kind >= QUIET_NAN)
            first = &operands[k];
    }
    return packed_nan(f, f, first, flags);
}

// Shift a significand to place 125, so that a sum has room.
static number normalized(number x)
{
    int places = 125 - top_of(x.significand);
    x.significand = shifted_left(x.significand, places);
    x.exponent -= places;
    return x;
}

static int is_less(wide x, wide y)
{
    return x.high < y.high || (x.high == y.high && x.low < y.low);
}

static wide difference_of(wide x, wide y)
{
    wide d;
    d.low = x.low - y.low;
    d.high = x.high - y.high - (x.low < y.low);
    return d;
}

// x + y of numbers that are not NaN, rounded once.
static outcome sum_of(const format *f, number x, number y, rounding how)
{
    wide total;
    int sign, apart;
    if (x.kind == INFINITE || y.kind == INFINITE) {
        if (x.kind == y.kind && x.sign != y.sign)
            return packed_nan(f, f, 0, INVALID);
        return packed_infinity(f, x.kind == INFINITE ? x.sign : y.sign, 0, 1);
    }
    if (is_zero(x.significand) && is_zero(y.significand))
        return packed_zero(f, x.sign == y.sign ? x.sign : how.mode == DOWNWARD);
    if (is_zero(x.significand))
        return round_pack(f, y.sign, y.significand, y.exponent, how, 0);
    if (is_zero(y.significand))
        return round_pack(f, x.sign, x.significand, x.exponent, how, 0);
    x = normalized(x);
    y = normalized(y);
    if (x.exponent < y.exponent) {
        number other = x;
        x = y;
        y = other;
    }
    // The bits of y that are lost lie far below those that rounding keeps: one bit stands for all of them.
    apart = x.exponent - y.exponent;
    total = shifted_right(y.significand, apart);
    total.low |= (uint64_t)has_bits_below(y.significand, apart);
    y.significand = total;
    sign = x.sign;
    if (x.sign == y.sign) {
        total.low = x.significand.low + y.significand.low;
        total.high = x.significand.high + y.significand.high + (total.low < x.significand.low);
    } else {
        if (is_less(x.significand, y.significand)) {
            number other = x;
            x.significand = y.significand;
            y.significand = other.significand;
            sign = y.sign;
        }
        total = difference_of(x.significand, y.significand);
        if (is_zero(total))
            return packed_zero(f, how.mode == DOWNWARD);
    }
    return round_pack(f, sign, total, x.exponent, how, 0);
}

static wide product_of(uint64_t x, uint64_t y)
{
    const uint64_t half = bits_of_ones(32);
    uint64_t low = (x & half) * (y & half), first = (x >> 32) * (y & half), second = (x & half) * (y >> 32);
    uint64_t middle = (low >> 32) + (first & half) + (second & half);
    wide p;
    p.low = (low & half) | middle << 32;
    p.high = (x >> 32) * (y >> 32) + (first >> 32) + (second >> 32) + (middle >> 32);
    return p;
}

// Whether a product is infinity times zero.
static int is_undefined(number x, number y)
{
    return (x.kind == INFINITE && y.kind == FINITE && is_zero(y.significand))
        || (y.kind == INFINITE && x.kind == FINITE && is_zero(x.significand));
}

// The exact product of numbers that are not NaN.
static number times(number x, number y)
{
    number p;
    p.kind = x.kind > y.kind ? x.kind : y.kind;
    p.sign = x.sign ^ y.sign;
    p.exponent = x.exponent + y.exponent;
    p.significand = product_of(x.significand.low, y.significand.low);
    return p;
}

// -1, 0 or 1: how numbers that are not NaN are ordered.
static int order_of(number x, number y)
{
    int empty[2], size = 0, places;
    empty[0] = x.kind == FINITE && is_zero(x.significand);
    empty[1] = y.kind == FINITE && is_zero(y.significand);
    if (empty[0] && empty[1])
        return 0;
    if (empty[0] || empty[1] || x.sign != y.sign)
        return (empty[0] ? !y.sign : x.sign) ? -1 : 1;
    if (x.kind != y.kind) {
        size = x.kind == INFINITE ? 1 : -1;
    } else if (x.kind == FINITE) {
        places = x.exponent + top_of(x.significand) - y.exponent - top_of(y.significand);
        if (places != 0) {
            size = places > 0 ? 1 : -1;
        } else {
            uint64_t first = x.significand.low << (63 - top_of(x.significand));
            uint64_t second = y.significand.low << (63 - top_of(y.significand));
            size = first > second ? 1 : first < second ? -1 : 0;
        }
    }
    return x.sign ? -size : size;
}

// A code in another format, rounded to nearest even.
static uint64_t converted(const format *from, const format *to, uint64_t code)
{
    number x = unpacked(from, code);
    if (x.kind >= QUIET_NAN)
        return packed_nan(to, from, &x, 0).code;
    if (x.kind == INFINITE)
        return packed_infinity(to, x.sign, 0, 1).code;
    if (is_zero(x.significand))
        return packed_zero(to, x.sign).code;
    return round_pack(to, x.sign, x.significand, x.exponent, by(TO_NEAREST_EVEN), 0).code;
}

// x[0] + x[1], rounded once.
static outcome added(const number *x, rounding how)
{
    return x[0].kind >= QUIET_NAN || x[1].kind >= QUIET_NAN ? of_nans(&TO, x, 2) : sum_of(&TO, x[0], x[1], how);
}

// x[0] * x[1], rounded once.
static outcome multiplied(const number *x, rounding how)
{
    number p;
    if (x[0].kind >= QUIET_NAN || x[1].kind >= QUIET_NAN)
        return of_nans(&TO, x, 2);
    if (is_undefined(x[0], x[1]))
        return packed_nan(&TO, &TO, 0, INVALID);
    p = times(x[0], x[1]);
    if (p.kind == INFINITE)
        return packed_infinity(&TO, p.sign, 0, 1);
    if (is_zero(p.significand))
        return packed_zero(&TO, p.sign);
    return round_pack(&TO, p.sign, p.significand, p.exponent, how, 0);
}

// A result as a matrix unit gives it, where subnormal ones may become zeros of their sign.
static uint64_t flushed(uint64_t code)
{
    uint64_t sign = code & sign_bit(&TO, 1);
    return FLUSHES && (code ^ sign) >> TO.mantissa_bits == 0 ? sign : code;
}

//% addf
static outcome compute(const number *x, rounding how)
{
    return added(x, how);
}

//% subf
static outcome compute(const number *x, rounding how)
{
    number y = x[1];
    y.sign = !y.sign;
    return x[0].kind >= QUIET_NAN || x[1].kind >= QUIET_NAN ? of_nans(&TO, x, 2) : sum_of(&TO, x[0], y, how);
}

//% mulf
static outcome compute(const number *x, rounding how)
{
    return multiplied(x, how);
}

//% fma
static outcome compute(const number *x, rounding how)
{
    number product, addend;
    outcome r;
    if (is_undefined(x[0], x[1])) {
        // Invalid, even if the addend is a quiet NaN, which is then the result.
        r = packed_nan(&TO, &TO, x[2].kind >= QUIET_NAN ? &x[2] : 0, INVALID);
        return r;
    }
    if (x[0].kind >= QUIET_NAN || x[1].kind >= QUIET_NAN || x[2].kind >= QUIET_NAN)
        return of_nans(&TO, x, 3);
    product = times(x[0], x[1]);
    addend = x[2];
    product.sign ^= NEGATES_PRODUCT;
    addend.sign ^= NEGATES_ADDEND;
    return sum_of(&TO, product, addend, how);
}

//% divf
static outcome compute(const number *x, rounding how)
{
    int sign = x[0].sign ^ x[1].sign, count = TO.mantissa_bits + 4 + RANDOM_BITS, places[2], k;
    wide digits = wide_of(0);
    uint64_t rest, divisor;
    if (x[0].kind >= QUIET_NAN || x[1].kind >= QUIET_NAN)
        return of_nans(&TO, x, 2);
    if (x[0].kind == INFINITE)
        return x[1].kind == INFINITE ? packed_nan(&TO, &TO, 0, INVALID) : packed_infinity(&TO, sign, 0, 1);
    if (x[1].kind == INFINITE)
        return packed_zero(&TO, sign);
    if (is_zero(x[1].significand)) {
        if (is_zero(x[0].significand))
            return packed_nan(&TO, &TO, 0, INVALID);
        return packed_infinity(&TO, sign, DIVIDE_BY_ZERO, QUOTIENT_BY_ZERO == LARGEST);
    }
    if (is_zero(x[0].significand))
        return packed_zero(&TO, sign);
    for (k = 0; k < 2; k++)
        places[k] = 61 - top_of(x[k].significand);
    rest = x[0].significand.low << places[0];
    divisor = x[1].significand.low << places[1];
    for (k = 0; k < count; k++) {
        digits = shifted_left(digits, 1);
        if (rest >= divisor) {
            rest -= divisor;
            digits.low |= 1;
        }
        rest <<= 1;
    }
    // One bit stands for the rest of the digits.
    digits = shifted_left(digits, 1);
    digits.low |= rest != 0;
    return round_pack(&TO, sign, digits, x[0].exponent - places[0] - x[1].exponent + places[1] - count, how, 0);
}

//% sqrt
static outcome compute(const number *x, rounding how)
{
    wide rest, root = wide_of(0), bit, tried;
    number y = x[0];
    int k;
    if (y.kind >= QUIET_NAN)
        return of_nans(&TO, x, 1);
    if (y.kind == FINITE && is_zero(y.significand))
        return packed_zero(&TO, y.sign);
    if (y.sign)
        return packed_nan(&TO, &TO, 0, INVALID);
    if (y.kind == INFINITE)
        return packed_infinity(&TO, 0, 0, 1);
    y = normalized(y);
    if ((y.exponent & 1) != 0) {
        y.significand = shifted_right(y.significand, 1); // its last bits are zero
        y.exponent++;
    }
    // One digit of the root after the other, from the highest one.
    rest = y.significand;
    for (k = 62; k >= 0; k--) {
        bit = shifted_left(wide_of(1), 2 * k);
        tried.low = root.low | bit.low;
        tried.high = root.high | bit.high;
        root = shifted_right(root, 1);
        if (!is_less(rest, tried)) {
            rest = difference_of(rest, tried);
            root.low |= bit.low;
            root.high |= bit.high;
        }
    }
    // One bit stands for the rest of the digits.
    root = shifted_left(root, 1);
    root.low |= !is_zero(rest);
    return round_pack(&TO, 0, root, y.exponent / 2 - 1, how, 0);
}

//% extremum
// The number itself, which may be a subnormal that is flushed.
static outcome packed_number(number x, unsigned flags)
{
    outcome r = x.kind == INFINITE ? packed_infinity(&TO, x.sign, 0, 1)
                : is_zero(x.significand) ? packed_zero(&TO, x.sign)
                : round_pack(&TO, x.sign, x.significand, x.exponent, by(TO_NEAREST_EVEN), 0);
    r.flags |= flags;
    return r;
}

// Of zeros of different signs, either may be the result where a number wins over a NaN.
static uint64_t open_bits(const uint64_t *codes)
{
    uint64_t sign = has_negative_zero(&TO) ? sign_bit(&TO, 1) : 0;
    return ((codes[0] | codes[1]) & ~sign) == 0 && codes[0] != codes[1] ? sign : 0;
}

static outcome compute(const number *x, const uint64_t *codes)
{
    unsigned flags = invalid_if_signalling(x[0].kind) | invalid_if_signalling(x[1].kind);
    int nan[2], order = 0, k;
    for (k = 0; k < 2; k++)
        nan[k] = x[k].kind >= QUIET_NAN;
    if (!nan[0] && !nan[1]) {
        order = order_of(x[0], x[1]);
        if (!IS_MAXIMUM)
            order = -order;
    }
    if (EXTREMA == SECOND)
        return nan[0] || nan[1] ? packed(codes[1], INVALID) : packed(codes[order <= 0], 0);
    if (EXTREMA == SELECTED) {
        if (nan[0] || nan[1])
            return packed(codes[nan[!NUMBER_WINS]], flags);
        return packed(codes[order <= 0], flags);
    }
    if (EXTREMA == NUMBER_SELECTED && NUMBER_WINS) {
        if (nan[0])
            return packed(codes[1], flags);
        return packed_number(x[!nan[1] && order < 0], flags);
    }
    if (!nan[0] && !nan[1]) {
        if (order == 0)
            order = IS_MAXIMUM ? x[1].sign - x[0].sign : x[0].sign - x[1].sign;
        return packed_number(x[order <= 0], flags);
    }
    if (!NUMBER_WINS)
        return of_nans(&TO, x, 2);
    if (flags != 0 && QUIETS_SIGNALLING)
        return packed_nan(&TO, &TO, &x[x[0].kind != SIGNALLING_NAN], flags);
    if (nan[0] && nan[1])
        return packed_nan(&TO, &TO, &x[1], flags);
    return packed_number(x[nan[0]], flags);
}

//% convert
static outcome compute(const number *x, rounding how)
{
    if (x->kind >= QUIET_NAN)
        return packed_nan(&TO, &FROM, x, invalid_if_signalling(x->kind));
    if (x->kind == FINITE && is_zero(x->significand))
        return packed_zero(&TO, x->sign);
    if (x->kind == FINITE)
        return round_pack(&TO, x->sign, x->significand, x->exponent, how, SATURATE);
    if (x->sign && !TO.is_signed) {
        int emax = (int)(TO.max_magnitude >> TO.mantissa_bits) - TO.bias;
        return round_pack(&TO, 1, wide_of(1), emax + 1, by(TO_NEAREST_EVEN), SATURATE);
    }
    if (SATURATE)
        return packed(TO.max_magnitude | sign_bit(&TO, x->sign), OVERFLOW | INEXACT);
    return packed_infinity(&TO, x->sign, TO.has_infinity ? 0 : OVERFLOW | INEXACT, INFINITY_WITHOUT_CODE == LARGEST);
}

//% from_integer
static outcome compute(uint64_t code, rounding how)
{
    int sign = IS_SIGNED && (code >> (INTEGER_BITS - 1) & 1) != 0;
    uint64_t magnitude = sign ? (0 - code) & bits_of_ones(INTEGER_BITS) : code;
    return magnitude == 0 ? packed_zero(&TO, 0) : round_pack(&TO, sign, wide_of(magnitude), -PLACES, how, SATURATE);
}

//% to_integer
static outcome compute(const number *x, rounding how)
{
    const uint64_t mask = bits_of_ones(INTEGER_BITS), half = UINT64_C(1) << (INTEGER_BITS - 1);
    const uint64_t lowest = IS_SIGNED ? half : 0, highest = IS_SIGNED ? half - 1 : mask;
    int inexact = 0, outside = x->kind != FINITE;
    uint64_t magnitude = 0;
    outcome r;
    if (x->kind == FINITE) {
        if (x->exponent > 0) {
            magnitude = shifted_left(x->significand, x->exponent).low;
            outside = !is_zero(x->significand) && top_of(x->significand) + x->exponent > 63;
        } else {
            magnitude = rounded(x->sign, x->significand, -x->exponent, how, 0, &inexact);
        }
        outside = outside || magnitude > (x->sign ? lowest : highest);
        if (x->sign)
            magnitude = 0 - magnitude;
        if (!outside)
            return packed(magnitude & mask, inexact ? INEXACT : 0);
        if (OUT_OF_RANGE == MODULAR)
            return packed(magnitude & mask, INVALID);
    }
    if (OUT_OF_RANGE == NO_VALUE) {
        r = packed(0, INVALID);
        r.poison = 1;
        return r;
    }
    if (OUT_OF_RANGE == MODULAR || (x->kind >= QUIET_NAN && OUT_OF_RANGE == SATURATED))
        return packed(0, INVALID);
    return packed(x->sign && x->kind < QUIET_NAN ? lowest : highest, INVALID);
}

//% fixed
enum { AC_TRN, AC_TRN_ZERO, AC_RND, AC_RND_ZERO, AC_RND_INF, AC_RND_MIN_INF, AC_RND_CONV, AC_RND_CONV_ODD };
enum { AC_WRAP, AC_SAT, AC_SAT_ZERO, AC_SAT_SYM };

// A code of so many bits, of which some are after the point.
static number of_fixed(uint64_t code, int bits, int is_signed, int after_point)
{
    number x;
    x.kind = FINITE;
    x.sign = is_signed && (code >> (bits - 1) & 1) != 0;
    x.exponent = -after_point;
    x.significand = wide_of(x.sign ? (0 - code) & bits_of_ones(bits) : code);
    return x;
}

// The exact sum: its terms have at most 127 bits where their last places are together.
static number sum_of_fixed(number x, number y)
{
    number total = x;
    if (x.exponent > y.exponent) {
        total = y;
        y = x;
        x = total;
    }
    y.significand = shifted_left(y.significand, y.exponent - x.exponent);
    if (x.sign == y.sign) {
        total.significand.low = x.significand.low + y.significand.low;
        total.significand.high = x.significand.high + y.significand.high + (total.significand.low < x.significand.low);
    } else if (is_less(x.significand, y.significand)) {
        total.significand = difference_of(y.significand, x.significand);
        total.sign = y.sign;
    } else {
        total.significand = difference_of(x.significand, y.significand);
        total.sign = x.sign;
    }
    total.exponent = x.exponent;
    return total;
}

static number product_of_fixed(number x, number y)
{
    x.sign ^= y.sign;
    x.exponent += y.exponent;
    x.significand = product_of(x.significand.low, y.significand.low);
    return x;
}

// Whether a magnitude becomes larger by 1 in its last place when it loses the lowest bits.
static int rounds_away(int sign, wide magnitude, int places)
{
    int half = places <= 128 && (shifted_right(magnitude, places - 1).low & 1) != 0;
    int below = has_bits_below(magnitude, places - 1);
    int odd = (shifted_right(magnitude, places).low & 1) != 0;
    switch (QUANTIZATION) {
    case AC_TRN:
        return sign && (half || below);
    case AC_TRN_ZERO:
        return 0;
    case AC_RND:
        return half && (below || !sign);
    case AC_RND_ZERO:
        return half && below;
    case AC_RND_INF:
        return half;
    case AC_RND_MIN_INF:
        return half && (below || sign);
    case AC_RND_CONV:
        return half && (below || odd);
    default:
        return half && (below || !odd);
    }
}

// A number in the format of the result, by its modes. An infinity and a NaN have no code.
static outcome fitted(number x)
{
    const uint64_t mask = bits_of_ones(INTEGER_BITS), half = UINT64_C(1) << (INTEGER_BITS - 1);
    const uint64_t highest = IS_SIGNED ? half - 1 : mask;
    const uint64_t lowest = !IS_SIGNED ? 0 : HOW_TO_FIT == AC_SAT_SYM ? highest : half;
    int places = -(x.exponent + PLACES), outside = 0;
    wide magnitude = x.significand;
    outcome r = packed(0, 0);
    if (x.kind != FINITE) {
        r.poison = 1;
        return r;
    }
    if (places > 0) {
        magnitude = shifted_right(x.significand, places);
        if (rounds_away(x.sign, x.significand, places)) {
            magnitude.low++;
            magnitude.high += magnitude.low == 0;
        }
    } else if (!is_zero(magnitude)) {
        outside = top_of(magnitude) - places > 127;
        magnitude = shifted_left(magnitude, -places);
    }
    outside = outside || magnitude.high != 0 || magnitude.low > (x.sign ? lowest : highest);
    if (HOW_TO_FIT == AC_WRAP || !outside)
        r.code = (x.sign ? 0 - magnitude.low : magnitude.low) & mask;
    else if (HOW_TO_FIT != AC_SAT_ZERO)
        r.code = (x.sign ? 0 - lowest : highest) & mask;
    return r;
}

//% compare
static outcome compute(const number *x)
{
    outcome r;
    int relation = UNORDERED;
    if (x[0].kind < QUIET_NAN && x[1].kind < QUIET_NAN) {
        int order = order_of(x[0], x[1]);
        relation = order < 0 ? LESS : order > 0 ? GREATER : EQUAL;
    }
    r.code = (HOLDS_FOR & relation) != 0;
    r.flags = invalid_if_signalling(x[0].kind) | invalid_if_signalling(x[1].kind);
    if (SIGNALS && relation == UNORDERED)
        r.flags = INVALID;
    r.poison = 0;
    return r;
}

//% to_integral
static outcome compute(const number *x, rounding how)
{
    uint64_t whole;
    int inexact;
    outcome r;
    if (x->kind >= QUIET_NAN)
        return packed_nan(&TO, &TO, x, invalid_if_signalling(x->kind));
    if (x->kind == INFINITE)
        return packed_infinity(&TO, x->sign, 0, 1);
    if (x->exponent >= 0)
        return is_zero(x->significand) ? packed_zero(&TO, x->sign)
                                       : round_pack(&TO, x->sign, x->significand, x->exponent, by(TO_NEAREST_EVEN), 0);
    whole = rounded(x->sign, x->significand, -x->exponent, how, 0, &inexact);
    // If the format ends before that integer, it overflows, to nearest even.
    r = whole == 0 ? packed_zero(&TO, x->sign) : round_pack(&TO, x->sign, wide_of(whole), 0, by(TO_NEAREST_EVEN), 0);
    if (SAYS_INEXACT && inexact)
        r.flags |= INEXACT;
    return r;
}

//% classify
static outcome compute(const number *x)
{
    int size = 5;
    if (x->kind >= QUIET_NAN)
        return packed(x->kind == SIGNALLING_NAN ? 1 << 8 : 1 << 9, 0);
    if (x->kind == INFINITE)
        size = 7;
    else if (is_zero(x->significand))
        size = 4;
    else if (x->significand.low >> FROM.mantissa_bits != 0)
        size = 6;
    return packed(UINT64_C(1) << (x->sign ? 7 - size : size), 0);
}

//% dot
enum { ZERO_IEEE, ZERO_SUM, ZERO_POSITIVE };
enum { BY_MODE, TO_INFINITY, TO_LARGEST };
enum { KEPT = -1, ALL_BITS = -1 };

// A term of a sum. place: its exponent in alignments, if it counts there; cut, bits, longest: how it is rounded there, the
// fraction bits that it keeps, and its longest shift. minus, plus: it consists of nothing but zeros of that sign.
typedef struct {
    number x;
    int place, counts, minus, plus;
    int cut, bits, longest;
} term;

static term term_of(const format *f, uint64_t code)
{
    term t;
    t.x = unpacked(f, code);
    t.minus = t.plus = 0;
    t.counts = t.x.kind == FINITE;
    t.place = t.x.exponent + f->mantissa_bits;
    t.cut = CUT;
    t.bits = BITS;
    t.longest = LONGEST_SHIFT;
    if (t.x.kind == FINITE && is_zero(t.x.significand)) {
        if (FLUSHES)
            t.x.sign = 0;
        t.minus = t.x.sign;
        t.plus = !t.x.sign;
        t.counts = ZERO_COUNTS;
        t.place = ZERO_PLACE;
    }
    return t;
}

static term product_of_terms(term x, term y)
{
    term t = x;
    t.x = times(x.x, y.x);
    if (x.x.kind >= QUIET_NAN || y.x.kind >= QUIET_NAN || is_undefined(x.x, y.x))
        t.x.kind = QUIET_NAN;
    t.place = x.place + y.place;
    t.counts = x.counts && y.counts;
    t.minus = t.x.kind == FINITE && is_zero(t.x.significand) && t.x.sign;
    t.plus = t.x.kind == FINITE && is_zero(t.x.significand) && !t.x.sign;
    return t;
}

// The special terms among some: NaN, an infinity, or FINITE if there are none.
static number special_among(const term *terms, int count)
{
    number found;
    int k;
    found.kind = FINITE;
    found.sign = found.exponent = 0;
    found.significand = wide_of(0);
    for (k = 0; k < count; k++) {
        int kind = terms[k].x.kind, clash = kind == INFINITE && found.kind == INFINITE && found.sign != terms[k].x.sign;
        if (kind >= QUIET_NAN || clash)
            found.kind = QUIET_NAN;
        else if (kind == INFINITE && found.kind == FINITE) {
            found.kind = INFINITE;
            found.sign = terms[k].x.sign;
        }
    }
    return found;
}

// The sum of aligned terms, in units of 2**(largest - MOST_BITS).
static number aligned_sum(const term *terms, int count, int largest)
{
    number sum;
    uint64_t total = 0;
    int k;
    for (k = 0; k < count; k++) {
        int unit = largest - terms[k].bits, inexact;
        uint64_t kept;
        if (!terms[k].counts || largest - terms[k].place > terms[k].longest)
            continue;
        kept = rounded(terms[k].x.sign, terms[k].x.significand, unit - terms[k].x.exponent, by(terms[k].cut), 0, &inexact);
        kept <<= MOST_BITS - terms[k].bits;
        total += terms[k].x.sign ? 0 - kept : kept;
    }
    sum.kind = FINITE;
    sum.sign = (int)(total >> 63);
    sum.exponent = largest - MOST_BITS;
    sum.significand = wide_of(sum.sign ? 0 - total : total);
    return sum;
}

// Add a number to an integer of many limbs, in units of 2**LOWEST.
static void add_to(uint64_t *limbs, number x)
{
    int places = x.exponent - LOWEST, first = places / 64, j;
    uint64_t part[3], carry = x.sign ? 1 : 0, flip = x.sign ? ~UINT64_C(0) : 0;
    if (is_zero(x.significand))
        return;
    part[0] = shifted_left(x.significand, places % 64).low;
    part[1] = shifted_left(x.significand, places % 64).high;
    part[2] = places % 64 == 0 ? 0 : shifted_right(x.significand, 128 - places % 64).low;
    for (j = first; j < LIMBS; j++) {
        uint64_t addend = (j - first < 3 ? part[j - first] : 0) ^ flip, before = limbs[j];
        limbs[j] = before + addend + carry;
        carry = limbs[j] < before || (limbs[j] == before && carry && addend != 0);
    }
}

// An integer of many limbs as a number: its highest 65 bits or more, the last of which stands for those that follow. Good
// for one rounding. The limbs become those of its absolute value.
static number number_of_limbs(uint64_t *limbs)
{
    number sum;
    int j, top = 0;
    sum.kind = FINITE;
    sum.sign = (int)(limbs[LIMBS - 1] >> 63);
    if (sum.sign) {
        uint64_t carry = 1;
        for (j = 0; j < LIMBS; j++) {
            limbs[j] = ~limbs[j] + carry;
            carry = carry && limbs[j] == 0;
        }
    }
    for (j = 0; j < LIMBS; j++)
        if (limbs[j] != 0)
            top = j;
    sum.significand = wide_of(limbs[top]);
    sum.exponent = LOWEST + 64 * top;
    if (top > 0) {
        sum.significand.high = limbs[top];
        sum.significand.low = limbs[top - 1];
        sum.exponent -= 64;
        for (j = 0; j < top - 1; j++)
            sum.significand.low |= limbs[j] != 0;
    }
    return sum;
}

static number exact_sum(const term *terms, int count)
{
    uint64_t limbs[LIMBS];
    int k;
    for (k = 0; k < LIMBS; k++)
        limbs[k] = 0;
    for (k = 0; k < count; k++)
        add_to(limbs, terms[k].x);
    return number_of_limbs(limbs);
}

static term sum_of_terms(const term *terms, int count)
{
    term sum = terms[0];
    int k;
    sum.cut = CUT_SUMS;
    sum.bits = BITS;
    sum.longest = LONGEST_SHIFT;
    sum.minus = sum.plus = 1;
    sum.counts = 0;
    for (k = 0; k < count; k++) {
        sum.minus = sum.minus && terms[k].minus;
        sum.plus = sum.plus && terms[k].plus;
        if (terms[k].counts && (!sum.counts || terms[k].place > sum.place))
            sum.place = terms[k].place;
        sum.counts = sum.counts || terms[k].counts;
    }
    sum.x = special_among(terms, count);
    if (sum.x.kind != FINITE)
        sum.counts = 0;
    else if (BITS == ALL_BITS)
        sum.x = exact_sum(terms, count);
    else if (sum.counts)
        sum.x = aligned_sum(terms, count, sum.place);
    return sum;
}

// A sum as a code of the result.
static uint64_t code_of(term t, int mode, int is_partial)
{
    outcome r;
    uint64_t code;
    if (t.x.kind >= QUIET_NAN)
        return NAN_CODE;
    if (t.x.kind == INFINITE)
        return packed_infinity(&TO, t.x.sign, 0, 1).code;
    if (is_zero(t.x.significand)) {
        code = ZERO_SIGN == ZERO_IEEE && (t.minus || (mode == DOWNWARD && !t.plus)) ? sign_bit(&TO, 1) : 0;
    } else {
        r = round_pack(&NARROW, t.x.sign, t.x.significand, t.x.exponent, by(mode), 0);
        code = r.code << (TO.mantissa_bits - NARROW.mantissa_bits);
        if ((r.flags & OVERFLOW) != 0 && ON_OVERFLOW == TO_INFINITY)
            code = packed_infinity(&TO, t.x.sign, 0, 1).code;
        if ((r.flags & OVERFLOW) != 0 && ON_OVERFLOW == TO_LARGEST)
            code = NARROW.max_magnitude << (TO.mantissa_bits - NARROW.mantissa_bits) | sign_bit(&TO, t.x.sign);
    }
    if (ZERO_SIGN == ZERO_POSITIVE && code == sign_bit(&TO, 1))
        code = 0;
    return is_partial ? flushed(code) : code;
}

// A partial sum as it enters the next addition.
static term partial_sum(term sum)
{
    term t;
    if (PARTIAL == KEPT)
        return sum;
    t = term_of(&TO, code_of(sum, PARTIAL, 1));
    t.cut = CUT_SUMS;
    return t;
}

static term tree_of(term *t, int count)
{
    while (count > 1) {
        int pairs = TREE == SEQUENTIAL ? 1 : count / 2, k;
        for (k = 0; k < pairs; k++) {
            term pair[2];
            pair[0] = t[TREE == NEIGHBOURS ? 2 * k : k];
            pair[1] = t[TREE == NEIGHBOURS ? 2 * k + 1 : k + pairs];
            t[k] = sum_of_terms(pair, 2);
            if (count > 2)
                t[k] = partial_sum(t[k]);
        }
        for (k = 2 * pairs; k < count; k++)
            t[k - pairs] = t[k];
        count -= pairs;
    }
    return t[0];
}

//% products
// The product at a place along K: of a row of A and a column of B, with their scales.
static term product_at(const A_TYPE *a, const B_TYPE *b, const SCALE_TYPE *scale_a, const SCALE_TYPE *scale_b, int k)
{
    uint64_t x = a[k] & bits_of_ones(A.bits), y = b[(long)k * N] & bits_of_ones(B.bits);
    term t = STEPS ? product_of_terms(term_of(&STEP, converted(&A, &STEP, x)), term_of(&STEP, converted(&B, &STEP, y)))
                   : product_of_terms(term_of(&A, x), term_of(&B, y));
    if (BLOCK > 0) {
        int at = k / (BLOCK > 0 ? BLOCK : 1);
        t = product_of_terms(t, term_of(&SCALE, scale_a[at] & bits_of_ones(SCALE.bits)));
        t = product_of_terms(t, term_of(&SCALE, scale_b[(long)at * N] & bits_of_ones(SCALE.bits)));
    }
    if (PRODUCTS_OVERFLOW && t.x.kind == FINITE && !is_zero(t.x.significand)
        && top_of(t.x.significand) + t.x.exponent > (int)(TO.max_magnitude >> TO.mantissa_bits) - TO.bias) {
        t.x.kind = INFINITE;
        t.counts = 0;
    }
    return t;
}

//% dots
// The products from a place along K on that have the same scales, added exactly: they have the exponent of the scales, whose signs do not count.
static term product_at(const A_TYPE *a, const B_TYPE *b, const SCALE_TYPE *scale_a, const SCALE_TYPE *scale_b, int k)
{
    term t = term_of(&SCALE, scale_a[k / BLOCK] & bits_of_ones(SCALE.bits));
    term other = term_of(&SCALE, scale_b[(long)(k / BLOCK) * N] & bits_of_ones(SCALE.bits));
    number sum = t.x;
    int64_t total = 0;
    int i;
    for (i = 0; i < DOT; i++) {
        number x = unpacked(&A, a[k + i] & bits_of_ones(A.bits));
        number y = unpacked(&B, b[(long)(k + i) * N] & bits_of_ones(B.bits));
        int64_t part = (int64_t)((x.significand.low * y.significand.low) << (x.exponent + y.exponent - DOT_PLACE));
        total += x.sign != y.sign ? -part : part;
    }
    sum.kind = FINITE;
    sum.sign = total < 0;
    sum.exponent = DOT_PLACE;
    sum.significand = wide_of(total < 0 ? (uint64_t)-total : (uint64_t)total);
    t.x.sign = other.x.sign = 0;
    t = product_of_terms(t, other);
    if (t.x.kind == FINITE)
        t.x = times(sum, t.x);
    t.minus = t.plus = 0;
    t.counts = t.counts && (!is_zero(t.x.significand) || ZERO_COUNTS);
    return t;
}

//% groups
// C plus the products of a group.
static uint64_t of_group(term *products, int count, uint64_t c)
{
    term leaves[GROUP + 1], halves[2], total, addend = term_of(&TO, c);
    int k, n = 0;
    addend.longest = LONGEST_SHIFT_OF_C;
    if (C_PLACE != C_LAST)
        leaves[n++] = addend;
    for (k = 0; k < count; k++) {
        if (ROUNDS_PRODUCTS)
            products[k] = term_of(&TO, code_of(products[k], PARTIAL, 1));
        leaves[n++] = products[k];
    }
    if (TREE == FLAT) {
        total = sum_of_terms(leaves, n);
    } else if (TREE == EVEN_ODD) {
        int half;
        for (half = 0; half < 2; half++) {
            term chosen[GROUP + 1];
            int m = 0;
            for (k = half; k < n; k += 2)
                chosen[m++] = leaves[k];
            if (m > 0)
                halves[half] = partial_sum(sum_of_terms(chosen, m));
        }
        total = n > 1 ? sum_of_terms(halves, 2) : halves[0];
    } else {
        total = tree_of(leaves, n);
    }
    if (C_PLACE == C_LAST) {
        halves[0] = partial_sum(total);
        halves[1] = addend;
        halves[0].cut = halves[1].cut = CUT_SUMS;
        halves[0].bits = MOST_BITS;
        halves[0].longest = LONGEST_SHIFT;
        total = sum_of_terms(halves, 2);
    }
    return code_of(total, ROUNDING, 0);
}

//% register
// The bits of a limb that a register does not have, and its sign bit.
static uint64_t beyond(int limb)
{
    int below = SIGN_PLACE - 64 * limb;
    return below >= 64 ? 0 : below <= 0 ? ~UINT64_C(0) : ~bits_of_ones(below);
}

// What a register in fixed point holds of an integer.
static void hold(uint64_t *limbs)
{
    uint64_t sign = limbs[LIMBS - 1] >> 63 ? ~UINT64_C(0) : 0, kept;
    int j, fits = 1;
    if (!HAS_SIGN_PLACE)
        return;
    for (j = 0; j < LIMBS; j++)
        fits = fits && ((limbs[j] ^ sign) & beyond(j)) == 0;
    if (fits)
        return;
    kept = limbs[SIGN_PLACE / 64] >> SIGN_PLACE % 64 & 1 ? ~UINT64_C(0) : 0;
    for (j = 0; j < LIMBS; j++)
        limbs[j] = HOLDS_LARGEST ? (sign & beyond(j)) | (~sign & ~beyond(j)) : (kept & beyond(j)) | (limbs[j] & ~beyond(j));
}

// A number as a multiple of the last place of a register.
static number on_places(number x)
{
    int inexact;
    if (x.exponent < LOWEST) {
        x.significand = wide_of(rounded(x.sign, x.significand, LOWEST - x.exponent, by(CUT), 0, &inexact));
        x.exponent = LOWEST;
    }
    return x;
}

// C plus the products of an instruction, in a register.
static uint64_t of_group(const term *products, int count, uint64_t c)
{
    term t[INSTRUCTION + 1];
    uint64_t limbs[LIMBS];
    int k;
    for (k = 0; k < count; k++)
        t[k] = products[k];
    t[count] = term_of(&TO, c);
    for (k = 0; k < LIMBS; k++)
        limbs[k] = 0;
    t[0].x = special_among(t, count + 1);
    if (t[0].x.kind == FINITE) {
        add_to(limbs, on_places(t[count].x));
        hold(limbs);
        for (k = 0; k < count; k++) {
            add_to(limbs, on_places(products[k].x));
            if ((k + 1) % GROUP == 0 || k + 1 == count)
                hold(limbs);
        }
        t[0].x = number_of_limbs(limbs);
    }
    t[0].minus = 0;
    t[0].plus = 1;
    return code_of(t[0], ROUNDING, 0);
}

//% elements
// One element: C plus a row of A times a column of B.
static uint64_t element(const A_TYPE *a, const B_TYPE *b, uint64_t c, const SCALE_TYPE *scale_a, const SCALE_TYPE *scale_b)
{
    term products[AT_ONCE];
    int start, first, k;
    for (start = 0; start < K; start += INSTRUCTION) {
        uint64_t total = C_PLACE == C_AT_END ? 0 : c;
        for (first = 0; first < INSTRUCTION; first += AT_ONCE) {
            int count = INSTRUCTION - first < AT_ONCE ? INSTRUCTION - first : AT_ONCE, n = 0;
            for (k = 0; k < count; k += DOT)
                products[n++] = product_at(a, b, scale_a, scale_b, PLACES[start + first + k]);
            total = of_group(products, n, total);
        }
        if (C_PLACE == C_AT_END) {
            term both[2];
            both[0] = term_of(&TO, c);
            both[1] = term_of(&TO, total);
            total = special_among(both, 2).kind >= QUIET_NAN ? NAN_CODE
                                                             : sum_of(&TO, both[0].x, both[1].x, by(TO_NEAREST_EVEN)).code;
        }
        c = flushed(total);
    }
    return unpacked(&TO, c).kind >= QUIET_NAN ? NAN_CODE : c;
}

//% integers
static int64_t signed_of(uint64_t code, int bits)
{
    uint64_t sign = UINT64_C(1) << (bits - 1);
    code &= bits_of_ones(bits);
    return (code & sign) != 0 ? -(int64_t)(bits_of_ones(bits) - code) - 1 : (int64_t)code;
}

// What the accumulator holds of a sum.
static int64_t held(int64_t number)
{
    int64_t highest = (int64_t)(bits_of_ones(WIDTH) >> 1);
    if (!SATURATES)
        return signed_of((uint64_t)number, WIDTH);
    return number > highest ? highest : number < -highest - 1 ? -highest - 1 : number;
}

// C plus the products of a group.
static int64_t of_group(const int64_t *products, int count, int64_t c)
{
    int64_t t[GROUP + 1], total = 0, other = 0;
    int k, n = 0;
    c = held(c);
    if (C_PLACE != C_LAST)
        t[n++] = c;
    for (k = 0; k < count; k++)
        t[n++] = products[k];
    if (TREE == FLAT || TREE == EVEN_ODD) {
        for (k = 0; k < n; k++) {
            if (TREE == EVEN_ODD && k % 2 != 0)
                other += t[k];
            else
                total += t[k];
        }
        if (TREE == EVEN_ODD)
            total = held(total) + held(other);
    } else {
        for (k = 0; k < n; k++)
            t[k] = held(t[k]);
        while (n > 1) {
            int pairs = TREE == SEQUENTIAL ? 1 : n / 2;
            for (k = 0; k < pairs; k++)
                t[k] = held(t[TREE == NEIGHBOURS ? 2 * k : k] + t[TREE == NEIGHBOURS ? 2 * k + 1 : k + pairs]);
            for (k = 2 * pairs; k < n; k++)
                t[k - pairs] = t[k];
            n -= pairs;
        }
        total = t[0];
    }
    total = held(total);
    return C_PLACE == C_LAST ? held(total + c) : total;
}

// One element: C plus a row of A times a column of B.
static uint64_t element(const A_TYPE *a, const B_TYPE *b, uint64_t c, const SCALE_TYPE *scale_a, const SCALE_TYPE *scale_b)
{
    int64_t products[GROUP], total;
    int start, first, k;
    (void)scale_a;
    (void)scale_b;
    for (start = 0; start < K; start += INSTRUCTION) {
        for (first = 0; first < INSTRUCTION; first += GROUP) {
            int count = INSTRUCTION - first < GROUP ? INSTRUCTION - first : GROUP;
            for (k = 0; k < count; k++) {
                int at = PLACES[start + first + k];
                products[k] = signed_of(a[at], A_BITS) * signed_of(b[(long)at * N], B_BITS);
            }
            total = of_group(products, count, signed_of(c, C_BITS));
            c = (uint64_t)total & bits_of_ones(D_BITS);
        }
    }
    return c;
}

//% chain
// One element: fused multiply-adds of C and the products along K.
static uint64_t element(const A_TYPE *a, const B_TYPE *b, uint64_t c, const SCALE_TYPE *scale_a, const SCALE_TYPE *scale_b)
{
    number x[3];
    int k;
    (void)scale_a;
    (void)scale_b;
    for (k = 0; k < K; k++) {
        x[0] = unpacked(&TO, converted(&A, &TO, a[PLACES[k]] & bits_of_ones(A.bits)));
        x[1] = unpacked(&TO, converted(&B, &TO, b[(long)PLACES[k] * N] & bits_of_ones(B.bits)));
        x[2] = unpacked(&TO, c);
        c = compute(x, by(TO_NEAREST_EVEN)).code;
    }
    return !KEEPS_NANS && unpacked(&TO, c).kind >= QUIET_NAN ? NAN_CODE : c;
}

//% tree
// An operand of a format, where subnormal numbers and -0 may count as +0.
static uint64_t operand(const format *f, uint64_t code)
{
    code &= bits_of_ones(f->bits);
    return FLUSHES && (code & ~sign_bit(f, 1)) >> f->mantissa_bits == 0 ? 0 : code;
}

static uint64_t sum_of_codes(uint64_t first, uint64_t second)
{
    number x[2];
    x[0] = unpacked(&TO, first);
    x[1] = unpacked(&TO, second);
    return added(x, by(TO_NEAREST_EVEN)).code;
}

// One element: rounded products, and rounded sums of two, then of C.
static uint64_t element(const A_TYPE *a, const B_TYPE *b, uint64_t c, const SCALE_TYPE *scale_a, const SCALE_TYPE *scale_b)
{
    uint64_t t[GROUP];
    number x[2];
    int start, first, k;
    (void)scale_a;
    (void)scale_b;
    for (start = 0; start < K; start += INSTRUCTION) {
        for (first = 0; first < INSTRUCTION; first += GROUP) {
            int count = INSTRUCTION - first < GROUP ? INSTRUCTION - first : GROUP;
            for (k = 0; k < count; k++) {
                int at = PLACES[start + first + k];
                x[0] = unpacked(&TO, converted(&A, &TO, operand(&A, a[at])));
                x[1] = unpacked(&TO, converted(&B, &TO, operand(&B, b[(long)at * N])));
                t[k] = flushed(multiplied(x, by(TO_NEAREST_EVEN)).code);
            }
            while (count > 1) {
                int pairs = TREE == SEQUENTIAL ? 1 : count / 2;
                for (k = 0; k < pairs; k++)
                    t[k] = flushed(sum_of_codes(t[TREE == NEIGHBOURS ? 2 * k : k],
                                                t[TREE == NEIGHBOURS ? 2 * k + 1 : k + pairs]));
                for (k = 2 * pairs; k < count; k++)
                    t[k - pairs] = t[k];
                count -= pairs;
            }
            c = sum_of_codes(operand(&TO, c), t[0]);
        }
        c = flushed(c);
    }
    return !KEEPS_NANS && unpacked(&TO, c).kind >= QUIET_NAN ? NAN_CODE : c;
}
