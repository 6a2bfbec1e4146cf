//! Words a project could be written in.

use super::dice::Dice;

/// The people of the project.
pub(super) const USERS: &[&str] = &["anna", "boris", "chen", "dmitri", "elena", "farid"];

/// The words of one language.
pub(super) struct Language {
    areas: &'static [&'static str],
    goals: &'static [&'static str],
    roles: &'static [&'static str],
    wishes: &'static [&'static str],
    things: &'static [&'static str],
    reasons: &'static [&'static str],
    conditions: &'static [&'static str],
    results: &'static [&'static str],
    duties: &'static [&'static str],
    limits: &'static [&'static str],
    remarks: &'static [&'static str],
    answers: &'static [&'static str],
    story: fn(&str, &str, &str, &str) -> String,
    criterion: fn(&str, &str, &str) -> String,
    requirement: fn(&str, &str, &str) -> String,
}

impl Language {
    pub(super) fn epic(&self, dice: &mut Dice) -> (String, String) {
        let (area, goal) = (dice.pick(self.areas), dice.pick(self.goals));
        let reason = dice.pick(self.reasons);
        (
            format!("{area}: {goal}"),
            format!(
                "{area}: {goal}, {reason}.\n\n* {}\n* {}",
                dice.pick(self.limits),
                dice.pick(self.limits)
            ),
        )
    }

    pub(super) fn story(&self, dice: &mut Dice) -> (String, String) {
        let (role, wish, thing) = (
            dice.pick(self.roles),
            dice.pick(self.wishes),
            dice.pick(self.things),
        );
        let reason = dice.pick(self.reasons);
        (format!("{wish} {thing}"), (self.story)(role, wish, thing, reason))
    }

    pub(super) fn criterion(&self, dice: &mut Dice) -> String {
        let (condition, thing, result) = (
            dice.pick(self.conditions),
            dice.pick(self.things),
            dice.pick(self.results),
        );
        (self.criterion)(condition, thing, result)
    }

    pub(super) fn requirement(&self, dice: &mut Dice) -> (String, String) {
        let (duty, thing, limit) = (
            dice.pick(self.duties),
            dice.pick(self.things),
            dice.pick(self.limits),
        );
        (
            capitalised(&format!("{duty} {thing}")),
            (self.requirement)(duty, thing, limit),
        )
    }

    pub(super) fn remark(&self, dice: &mut Dice) -> String {
        (*dice.pick(self.remarks)).to_owned()
    }

    pub(super) fn answer(&self, dice: &mut Dice) -> String {
        (*dice.pick(self.answers)).to_owned()
    }
}

fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    let first = chars.next().map(char::to_uppercase);
    first.into_iter().flatten().chain(chars).collect()
}

/// The languages of the project, the first one more often.
pub(super) fn language(dice: &mut Dice) -> &'static Language {
    if dice.percent(70) { &ENGLISH } else { &RUSSIAN }
}

/// Guidance for the whole project.
pub(super) const STEERING: &[(&str, &str)] = &[
    (
        "Security principles",
        "Every request is authenticated.\nSecrets never reach a log, an answer or an argument.",
    ),
    (
        "Accessibility",
        "Every page works with a keyboard and a screen reader.\nContrast is at least 4.5 to 1.",
    ),
    (
        "Язык интерфейса",
        "Все тексты доступны на русском и английском языках.\nСообщение об ошибке говорит, что делать дальше.",
    ),
    (
        "Performance budget",
        "A page answers within 200 ms at the 95th percentile.\nA release must not be slower than the one before.",
    ),
    (
        "Хранение данных",
        "Персональные данные хранятся не дольше, чем нужно.\nУдаление подтверждается записью в журнале.",
    ),
];

const ENGLISH: Language = Language {
    areas: &[
        "Sign-in",
        "Payments",
        "Reports",
        "Notifications",
        "Search",
        "Mobile app",
        "Warehouse",
        "Customer care",
        "Billing",
        "Audit",
        "Onboarding",
        "Integrations",
        "Catalogue",
        "Shipping",
        "Calendar",
    ],
    goals: &[
        "a safer way in",
        "fewer abandoned carts",
        "answers in one place",
        "no lost messages",
        "less manual work",
        "a quicker start",
        "one source of truth",
        "clear responsibility",
        "offline work",
        "faster month-end closing",
    ],
    roles: &[
        "a customer",
        "an accountant",
        "a warehouse clerk",
        "an administrator",
        "a support agent",
        "a team lead",
        "a new colleague",
        "an auditor",
        "a driver",
        "a supplier",
    ],
    wishes: &[
        "Export",
        "Filter",
        "Approve",
        "Share",
        "Correct",
        "Schedule",
        "Compare",
        "Archive",
        "Restore",
        "Translate",
        "Sort",
        "Annotate",
        "Subscribe to",
        "Import",
        "Merge",
    ],
    things: &[
        "invoices",
        "delivery notes",
        "access rights",
        "price lists",
        "monthly statements",
        "customer addresses",
        "return labels",
        "exchange rates",
        "stock levels",
        "contracts",
        "reminders",
        "time sheets",
        "test results",
        "product photos",
        "meeting minutes",
    ],
    reasons: &[
        "so that nobody waits for the end of the month",
        "because mistakes are expensive to repair",
        "so that a new colleague can do it on the first day",
        "because the law demands it",
        "so that we answer customers the same day",
        "because two systems disagree today",
    ],
    conditions: &[
        "When the connection breaks",
        "When two people edit at once",
        "When the list is empty",
        "When the token has expired",
        "When the file is larger than 20 MB",
        "When the user has no right",
        "When the amount is negative",
        "When the server restarts",
    ],
    results: &[
        "the page says what to do next",
        "nothing is saved twice",
        "the change is visible within a second",
        "an entry in the history names the person",
        "the old version can be restored",
        "the answer is refused with the field's name",
    ],
    duties: &[
        "keep a history of",
        "validate",
        "encrypt",
        "index",
        "paginate",
        "synchronise",
        "number",
        "lock",
        "back up",
        "limit the size of",
        "sign",
        "notify the owner of",
    ],
    limits: &[
        "within 200 ms for 95 of 100 requests",
        "for at least ten years",
        "for up to 10,000 entries",
        "without more than one retry",
        "in every supported language",
        "also without a network",
        "with less than 50 MB of memory",
    ],
    remarks: &[
        "Do we need this in the first release?",
        "The wording is not testable yet: what does quickly mean here?",
        "This conflicts with what the warehouse asked for.",
        "Looks good to me.",
        "Please add the case of an expired contract.",
        "Who decides about exceptions?",
    ],
    answers: &[
        "Yes, the customer insists.",
        "I made it measurable.",
        "Moved to the next release.",
        "Discussed on Monday; we keep it.",
        "Done.",
    ],
    story: |role, wish, thing, reason| {
        format!("As {role}, I want to {} {thing} {reason}.", wish.to_lowercase())
    },
    criterion: |condition, thing, result| format!("{condition} while someone works on {thing}, {result}."),
    requirement: |duty, thing, limit| format!("The system MUST {duty} {thing} {limit}."),
};

const RUSSIAN: Language = Language {
    areas: &[
        "Вход в систему",
        "Платежи",
        "Отчёты",
        "Уведомления",
        "Поиск",
        "Склад",
        "Доставка",
        "Договоры",
        "Журнал действий",
        "Личный кабинет",
    ],
    goals: &[
        "меньше ручной работы",
        "единый источник данных",
        "понятная ответственность",
        "быстрый старт",
        "работа без сети",
        "прозрачные расчёты",
        "ни одного потерянного сообщения",
    ],
    roles: &[
        "покупатель",
        "бухгалтер",
        "кладовщик",
        "администратор",
        "оператор поддержки",
        "руководитель группы",
        "аудитор",
        "водитель",
    ],
    wishes: &[
        "Выгружать",
        "Фильтровать",
        "Согласовывать",
        "Исправлять",
        "Сравнивать",
        "Архивировать",
        "Восстанавливать",
        "Сортировать",
        "Загружать",
        "Объединять",
    ],
    things: &[
        "счета",
        "накладные",
        "права доступа",
        "прайс-листы",
        "адреса клиентов",
        "курсы валют",
        "остатки на складе",
        "договоры",
        "напоминания",
        "табели",
        "результаты испытаний",
        "фотографии товаров",
    ],
    reasons: &[
        "чтобы никто не ждал конца месяца",
        "потому что ошибки дорого исправлять",
        "чтобы новый сотрудник справился в первый день",
        "потому что этого требует закон",
        "чтобы отвечать клиентам в тот же день",
    ],
    conditions: &[
        "Если связь прервалась",
        "Если двое редактируют одновременно",
        "Если список пуст",
        "Если срок действия токена истёк",
        "Если у пользователя нет прав",
        "Если сумма отрицательная",
        "Если сервер перезапущен",
    ],
    results: &[
        "страница подсказывает, что делать дальше",
        "ничего не сохраняется дважды",
        "изменение видно в течение секунды",
        "в истории указан автор",
        "старую версию можно восстановить",
        "отказ называет поле",
    ],
    duties: &[
        "хранить историю:",
        "проверять",
        "шифровать",
        "индексировать",
        "выводить постранично",
        "синхронизировать",
        "нумеровать",
        "блокировать",
        "резервировать",
        "подписывать",
    ],
    limits: &[
        "не дольше 200 мс для 95 запросов из 100",
        "не менее десяти лет",
        "до 10 000 записей",
        "не более одной повторной попытки",
        "на всех поддерживаемых языках",
        "в том числе без сети",
    ],
    remarks: &[
        "Нужно ли это в первой версии?",
        "Формулировку нельзя проверить: что значит «быстро»?",
        "Это противоречит пожеланиям склада.",
        "Выглядит хорошо.",
        "Добавьте случай просроченного договора.",
        "Кто решает об исключениях?",
    ],
    answers: &[
        "Да, заказчик настаивает.",
        "Сделал измеримым.",
        "Перенесли в следующую версию.",
        "Обсудили в понедельник, оставляем.",
        "Готово.",
    ],
    story: |role, wish, thing, reason| {
        format!("Как {role}, я хочу {} {thing}, {reason}.", wish.to_lowercase())
    },
    criterion: |condition, thing, result| format!("{condition}, пока идёт работа ({thing}), {result}."),
    requirement: |duty, thing, limit| format!("Система ДОЛЖНА {duty} {thing} {limit}."),
};
