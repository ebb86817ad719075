"""Where a reply by mail ends: below stand a quoted or forwarded mail, a signature or a footer, not its author's words."""

from __future__ import annotations

import re
from collections.abc import Sequence

from domain.visible import Line, Place, without_invisible

WROTE = (
    "wrote", "schrieb", "a écrit", "escribió", "ha scritto", "escreveu", "schreef", "skrev", "kirjoitti", "napisał",
    "napsal", "написал", "пишет", "yazdı", "写道", "寫道", "のメール", "작성",
)  # fmt: skip
"""The verb of the line that mail programs put over a quoted mail: «On … wrote:», «Am … schrieb …:» and their like."""

FROM = ("From", "Von", "De", "Da", "Van", "Från", "Fra", "Od", "От", "发件人", "差出人")
"""The first field of the head that Outlook and its like put over a mail."""

SENT = (
    "Sent", "Date", "Gesendet", "Datum", "Envoyé", "Enviado", "Fecha", "Data", "Inviato", "Verzonden", "Skickat",
    "Sendt", "Wysłano", "Отправлено", "Дата", "发送时间", "送信日時",
)  # fmt: skip
"""The field that follows it within three lines."""

RULED = (
    "original message", "forwarded message", "ursprüngliche nachricht", "weitergeleitete nachricht", "message d'origine",
    "message d’origine", "message original", "message transféré", "mensaje original", "mensaje reenviado",
    "messaggio originale", "messaggio inoltrato", "oorspronkelijk bericht", "doorgestuurd bericht", "mensagem original",
    "mensagem encaminhada", "mensagem reencaminhada", "ursprungligt meddelande", "oprindelig meddelelse",
    "opprinnelig melding", "alkuperäinen viesti", "wiadomość oryginalna", "původní zpráva", "исходное сообщение",
    "пересылаемое сообщение", "özgün ileti", "原始邮件", "邮件原件", "원본 메시지",
)  # fmt: skip
"""What stands between the hyphens of the rule that Outlook, Gmail and their like draw above a mail."""

FORWARDED = (
    "begin forwarded message", "anfang der weitergeleiteten nachricht", "anfang der weitergeleiteten e-mail",
    "début du message transféré", "début du message réexpédié", "inicio del mensaje reenviado",
    "inizio messaggio inoltrato", "inizio del messaggio inoltrato", "begin doorgestuurd bericht",
    "início da mensagem reencaminhada", "início da mensagem encaminhada", "start på videresendt besked",
    "start på videresendt melding", "videresendt melding", "vidarebefordrat mejl", "vidarebefordrat brev",
    "välitetty viesti alkaa", "początek przekazywanej wiadomości", "začátek přeposílané zprávy",
    "начало переадресованного сообщения",
)  # fmt: skip
"""The line that Apple Mail puts above a mail that it forwards; the whole line, up to its colon."""

FOOTER = ("Reply to this email directly", "You are receiving this because")
"""How the line begins that GitHub puts below a dash at the end of its own mails."""

_LINES_MAX = 3
_HEADER_CHARACTERS_MAX = 400
_WROTE_BEGINS = re.compile(
    r"(?:On|Am|Le|El|Il|Em|Op|Den|Dnia|W dniu|В|в)\s|[在于於]|\d{4}[\W년年]|\d{1,2}\s\w+\s\d{4}|\w{2,5}[.,]*\s\d",
    re.IGNORECASE,
)
_WROTE_ENDS = re.compile(rf"(?:{'|'.join(WROTE)}).*[:：]$", re.IGNORECASE)
_FROM_FIELD = re.compile(rf"(?:{'|'.join(FROM)})\s?[:：]", re.IGNORECASE)
_MAIL_HEAD = re.compile(rf"{_FROM_FIELD.pattern}.*\s(?:{'|'.join(SENT)})\s?[:：]", re.IGNORECASE)
_RULE = re.compile(rf"-{{4,}}\s*(?:{'|'.join(RULED)})\s*-{{4,}}", re.IGNORECASE)
_FORWARDED = re.compile(rf"(?:{'|'.join(FORWARDED)})\s?[:：]", re.IGNORECASE)
_DASH = re.compile("[–—―]")
_OPAQUE = (Place.FENCED, Place.INDENTED, Place.INLINE_CODE, Place.HTML, Place.HTML_COMMENT)


def first_tail_line(source: str, lines: Sequence[Line]) -> int | None:
    """The number of the source line with which the tail begins, or None where the whole text is the author's.

    A header over quoted lines (`>`) begins no tail: the quote is known as such, and below it the author may go on.
    """
    starts = [number for number in (_signature(source, lines), _header(lines)) if number is not None]
    return min(starts, default=None)


def _signature(source: str, lines: Sequence[Line]) -> int | None:
    """The first line of two hyphens; from the source, since below a paragraph Markdown makes it a heading's rule."""
    if "--" not in source:
        return None
    opaque = {line.number for line in lines if line.place in _OPAQUE}
    numbered = enumerate(re.split(r"\r\n?|\n", source), start=1)
    return next((number for number, text in numbered if text.rstrip() == "--" and number not in opaque), None)


def _header(lines: Sequence[Line]) -> int | None:
    seen = [line for line in lines if line.place not in _OPAQUE]
    texts = [without_invisible(line.text).strip() if line.place is not Place.QUOTE else "" for line in seen]
    for index, line in enumerate(seen):
        if texts[index] and _begins_tail(index, seen, texts):
            return line.number
    return None


def _begins_tail(index: int, seen: Sequence[Line], texts: Sequence[str]) -> bool:
    if _RULE.match(texts[index]) or _FORWARDED.fullmatch(texts[index]) or _is_footer(index, texts):
        return True
    if _FROM_FIELD.match(texts[index]) and _MAIL_HEAD.match(_joined(texts, index, index + 1 + _LINES_MAX)):
        return True
    count = _wrote_header_lines(index, texts)
    below = seen[index + count] if index + count < len(seen) else None
    return count > 0 and (below is None or below.place is not Place.QUOTE)


def _is_footer(index: int, texts: Sequence[str]) -> bool:
    """A dash alone may stand between the author's own paragraphs: what follows it decides."""
    if not _DASH.fullmatch(texts[index]):
        return False
    return next((text for text in texts[index + 1 :] if text), "").startswith(FOOTER)


def _wrote_header_lines(index: int, texts: Sequence[str]) -> int:
    """Over how many lines the header that begins at `index` runs; 0 where none begins. A wrapped one has a date."""
    if not _WROTE_BEGINS.match(texts[index]):
        return 0
    for end in range(index + 1, min(index + _LINES_MAX, len(texts)) + 1):
        header = _joined(texts, index, end)
        if _WROTE_ENDS.search(header) and (end == index + 1 or re.search(r"\d", header)):
            return end - index
    return 0


def _joined(texts: Sequence[str], start: int, end: int) -> str:
    return " ".join(text[:_HEADER_CHARACTERS_MAX] for text in texts[start:end])
