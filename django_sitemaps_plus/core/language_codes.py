"""Codes of languages, scripts and countries, and what others are meant to be."""

from __future__ import annotations

from functools import lru_cache

# Each code of ISO 639-1 with those of three letters that mean the same.
_PAIRS = """
    aaaar ababk aeave afafr akaka amamh anarg arara asasm avava ayaym azaze babak
    bebel bgbul bibis bmbam bnben bobod brbre bsbos cacat ceche chcha cocos crcre
    csces cuchu cvchv cycym dadan dedeu dvdiv dzdzo eeewe elell eneng eoepo esspa
    etest eueus fafas ffful fifin fjfij fofao frfra fyfry gagle gdgla glglg gngrn
    guguj gvglv hahau heheb hihin hohmo hrhrv hthat huhun hyhye hzher iaina idind
    ieile igibo iiiii ikipk ioido isisl itita iuiku jajpn jvjav kakat kgkon kikik
    kjkua kkkaz klkal kmkhm knkan kokor krkau kskas kukur kvkom kwcor kykir lalat
    lbltz lglug lilim lnlin lolao ltlit lulub lvlav mgmlg mhmah mimri mkmkd mlmal
    mnmon mrmar msmsa mtmlt mymya nanau nbnob ndnde nenep ngndo nlnld nnnno nonor
    nrnbl nvnav nynya ococi ojoji omorm orori ososs papan pipli plpol pspus ptpor
    quque rmroh rnrun roron rurus rwkin sasan scsrd sdsnd sesme sgsag sisin skslk
    slslv smsmo snsna sosom sqsqi srsrp ssssw stsot susun svswe swswa tatam tetel
    tgtgk ththa titir tktuk tltgl tntsn toton trtur tstso tttat twtwi tytah uguig ukukr
    ururd uzuzb veven vivie vovol wawln wowol xhxho yiyid yoyor zazha zhzho zuzul
    botib cscze cywel deger elgre eubaq faper frfre hyarm isice kageo mimao mkmac
    msmay mybur nldut rorum skslo sqalb zhchi
"""
# ISO 15924.
_SCRIPTS = """
    Adlm Afak Aghb Ahom Arab Aran Armi Armn Avst Bali Bamu Bass Batk Beng Berf Bhks
    Blis Bopo Brah Brai Bugi Buhd Cakm Cans Cari Cham Cher Chis Chrs Cirt Copt Cpmn
    Cprt Cyrl Cyrs Deva Diak Dogr Dsrt Dupl Egyd Egyh Egyp Elba Elym Ethi Gara Geok
    Geor Glag Gong Gonm Goth Gran Grek Gujr Gukh Guru Hanb Hang Hani Hano Hans Hant
    Hatr Hebr Hira Hluw Hmng Hmnp Hntl Hrkt Hung Inds Ital Jamo Java Jpan Jurc Kali
    Kana Kawi Khar Khmr Khoj Kitl Kits Knda Kore Kpel Krai Kthi Lana Laoo Latf Latg
    Latn Leke Lepc Limb Lina Linb Lisu Loma Lyci Lydi Mahj Maka Mand Mani Marc Maya
    Medf Mend Merc Mero Mlym Modi Mong Moon Mroo Mtei Mult Mymr Nagm Nand Narb Nbat
    Newa Nkgb Nkoo Nshu Ogam Olck Onao Orkh Orya Osge Osma Ougr Palm Pauc Pcun Pelm
    Perm Phag Phli Phlp Phlv Phnx Piqd Plrd Prti Psin Ranj Rjng Rohg Roro Runr Samr
    Sara Sarb Saur Seal Sgnw Shaw Shrd Shui Sidd Sidt Sind Sinh Sogd Sogo Sora Soyo
    Sund Sunu Sylo Syrc Syre Syrj Syrn Tagb Takr Tale Talu Taml Tang Tavt Telu Teng
    Tfng Tglg Thaa Thai Tibt Tirh Tnsa Todr Tols Toto Tutg Ugar Vaii Visp Vith Wara
    Wcho Wole Xpeo Xsux Yezi Yiii Zanb Zmth Zsye Zsym Zxxx
"""
# ISO 3166-1, and Kosovo, which has no other code.
_COUNTRIES = """
    AD AE AF AG AI AL AM AO AQ AR AS AT AU AW AX AZ BA BB BD BE BF BG BH BI BJ BL BM
    BN BO BQ BR BS BT BV BW BY BZ CA CC CD CF CG CH CI CK CL CM CN CO CR CU CV CW CX
    CY CZ DE DJ DK DM DO DZ EC EE EG EH ER ES ET FI FJ FK FM FO FR GA GB GD GE GF GG
    GH GI GL GM GN GP GQ GR GS GT GU GW GY HK HM HN HR HT HU ID IE IL IM IN IO IQ IR
    IS IT JE JM JO JP KE KG KH KI KM KN KP KR KW KY KZ LA LB LC LI LK LR LS LT LU LV
    LY MA MC MD ME MF MG MH MK ML MM MN MO MP MQ MR MS MT MU MV MW MX MY MZ NA NC NE
    NF NG NI NL NO NP NR NU NZ OM PA PE PF PG PH PK PL PM PN PR PS PT PW PY QA RE RO
    RS RU RW SA SB SC SD SE SG SH SI SJ SK SL SM SN SO SR SS ST SV SX SY SZ TC TD TF
    TG TH TJ TK TL TM TN TO TR TT TV TW TZ UA UG UM US UY UZ VA VC VE VG VI VN VU WF
    WS YE YT ZA ZM ZW XK
"""
# Groups of countries by UN M49, as BCP 47 allows them.
_GROUPS = """
    001 002 003 005 009 011 013 014 015 017 018 019 021 029 030 034 035 039 053 054 057
    061 142 143 145 150 151 154 155 202 419
"""
# Former codes, and those of countries that are written in the place of a language.
_MEANT = """
    al:sq at:de-AT au:en-AU bd:bn by:be cl:es-CL cn:zh cz:cs dk:da eg:ar-EG gb:en-GB
    gr:el hk:zh-HK il:he in:id ir:fa iw:he ji:yi jp:ja jw:jv kh:km kz:kk lk:si
    mo:ro mx:es-MX nz:en-NZ ph:fil pk:ur rs:sr sh:sr-Latn ua:uk us:en-US vn:vi
    BU:MM CS:RS DA:DK DD:DE EL:GR EN:GB FX:FR JA:JP KO:KR SP:ES SU:RU TP:TL UK:GB YU:RS
    ZR:CD
"""

_LANGUAGES = {it[:2] for it in _PAIRS.split()}
_SHORT = {it[2:]: it[:2] for it in _PAIRS.split()}
_KNOWN_SCRIPTS = frozenset(_SCRIPTS.split())
_KNOWN_COUNTRIES = frozenset(_COUNTRIES.split())
_REGIONS = _KNOWN_COUNTRIES.union(_GROUPS.split())
_MEANINGS = dict(it.split(":") for it in _MEANT.split())


@lru_cache(1_000)
def language_doubt(code: str, *, may_have_region: bool = True) -> str:
    """Return why engines will not understand a code, and what it may mean; "" if not.

    Its form is right. Languages of three letters are too many to be known, so they
    pass, unless there is one of two letters as well.
    """
    language, *rest = code.split("-")
    if language == "x":
        return ""
    script = "".join([it.title() for it in rest if len(it) == 4])
    region = "".join([it.upper() for it in rest if len(it) < 4])
    faults, meant = [], language.lower()
    known = {**_MEANINGS, **_SHORT} if may_have_region else _MEANINGS
    if (len(meant) == 2 and meant not in _LANGUAGES) or meant in known:
        faults.append(f"{language!r} is no language of ISO 639-1")
        meant = known.get(meant, "")
    if script and script not in _KNOWN_SCRIPTS:
        faults.append(f"{script!r} is no script of ISO 15924")
        script = ""
    if (meant, region) == ("es", "LA"):
        faults.append("'LA' is Laos")
        region = "419"
    elif region and region not in _REGIONS:
        faults.append(f"{region!r} is no country of ISO 3166-1")
        is_doubled = region == language.upper()
        region = "" if is_doubled else _MEANINGS.get(region, "")
    if region or not may_have_region:
        meant = meant.split("-")[0]
    words = "-".join(filter(None, [meant, script, region])) if meant else ""
    return _in_words(faults, words)


def country_doubt(codes: str) -> str:
    """Return the same of codes of countries, separated by spaces."""
    wrong = sorted({*codes.split()} - _KNOWN_COUNTRIES)
    faults = [f"{it!r} is no country of ISO 3166-1" for it in wrong]
    return _in_words(
        faults, " ".join([_MEANINGS[it] for it in wrong if it in _MEANINGS])
    )


def _in_words(faults: list[str], meant: str) -> str:
    question = f". Did you mean {meant!r}?" if meant else ""
    return " and ".join(faults) + question if faults else ""
